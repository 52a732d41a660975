// What screen readers and keyboards need, and the theme and the gallery leave out.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll('.caption[role="heading"]')) {
    caption.setAttribute("aria-level", "2");
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  // The corner of a table has no header to read.
  for (const corner of document.querySelectorAll("th.head")) {
    if (!corner.textContent.trim()) corner.outerHTML = "<td></td>";
  }
});

// Whatever scrolls sideways can be reached with the keyboard; known once pictures and fonts are there.
window.addEventListener("load", () => {
  const wide = "article pre, article table, article .table-wrapper, article .math-wrapper, article .formula";
  for (const region of document.querySelectorAll(wide)) {
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
  }
});
