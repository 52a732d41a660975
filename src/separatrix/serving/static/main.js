/** The form at `/`, the reference of the interface at `/docs`. */
document.querySelector(`nav a[href="${location.pathname}"]`).setAttribute("aria-current", "page");
await import(location.pathname === "/docs" ? "/static/api.js" : "/static/form.js");
