// What screen readers and keyboards need, and the theme and the gallery leave out.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll('.caption[role="heading"]')) {
    caption.setAttribute("aria-level", "2");
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
  const wide = "article pre, article table, article .table-wrapper, article .math-wrapper, article .formula";
  for (const region of document.querySelectorAll(wide)) {
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
  }
});
