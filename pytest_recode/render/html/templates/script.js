"use strict";
// Before the body is read, so that the browser lays out only the page that is shown
document.documentElement.classList.add("script");
addEventListener("DOMContentLoaded", () => {
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  const pages = all(".page");
  const links = all("header nav a");
  all("form.filter, .tools, .keys").forEach((each) => { each.hidden = false; });
  all("form.filter").forEach((form) => form.addEventListener("submit", (event) => event.preventDefault()));

  // Only the page that the address names is shown
  const show = () => {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* not an address of this page */ }
    const page = (target && target.closest(".page")) || pages[0];
    pages.forEach((each) => each.classList.toggle("current", each === page));
    links.forEach((each) => {
      const here = each.getAttribute("href") === "#" + page.id || (page.classList.contains("episode") && each.getAttribute("href") === "#tasks");
      if (here) each.setAttribute("aria-current", "page"); else each.removeAttribute("aria-current");
    });
    if (target && target !== page) {
      target.scrollIntoView();
      if (target.tabIndex >= -1 && target.hasAttribute("tabindex")) target.focus({ preventScroll: true });
    } else {
      scrollTo(0, 0);
    }
  };
  addEventListener("hashchange", show);
  show();

  // A click on the head of a column sorts by it
  all("table.sortable").forEach((table) => {
    const heads = all("thead th", table);
    const body = table.tBodies[0];
    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === (head.classList.contains("number") ? "descending" : "ascending");
        const order = head.classList.contains("number") !== down ? "descending" : "ascending";
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const value = (row) => row.cells[place].dataset.sort || "";
        const compare = (one, other) => {
          const [a, b] = [value(one), value(other)];
          if (a === "" || b === "") return (a === "") - (b === "");
          const numbers = Number.isFinite(Number(a)) && Number.isFinite(Number(b));
          const sign = numbers ? Number(a) - Number(b) : a.localeCompare(b, undefined, { numeric: true });
          return order === "ascending" ? sign : -sign;
        };
        body.append(...Array.from(body.rows).sort(compare));
      });
    });
  });

  // Filter of tasks
  const filter = document.getElementById("filter");
  const kind = document.getElementById("kind");
  if (filter && kind) {
    const rows = all("#matrix tbody tr");
    const apply = () => {
      const text = filter.value.toLowerCase();
      let count = 0;
      rows.forEach((row) => {
        row.hidden = !(row.cells[0].textContent.toLowerCase().includes(text) && (!kind.value || row.dataset.kinds.split(" ").includes(kind.value)));
        count += !row.hidden;
      });
      document.getElementById("count").textContent = count + " of " + rows.length + " tasks";
    };
    filter.addEventListener("input", apply);
    kind.addEventListener("change", apply);
    apply();
  }

  all("[data-open], [data-close]").forEach((button) => button.addEventListener("click", () => {
    const open = "open" in button.dataset;
    all("details", button.closest(".page")).forEach((each) => { each.open = open; });
  }));

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const beside = { n: "next", p: "prev" }[event.key];
    const link = beside && document.querySelector(".page.current a[rel=" + beside + "]");
    if (link) link.click();
    else if (/^[1-9]$/.test(event.key) && links[event.key - 1]) links[event.key - 1].click();
    else if (event.key === "/" && filter) { event.preventDefault(); location.hash = "#tasks"; show(); filter.focus(); }
  });
});
