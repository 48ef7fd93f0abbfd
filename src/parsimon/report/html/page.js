/* The page itself: says that a script runs, switches light and dark, follows the contents. */
// Set before anything is drawn, so that what needs a script does not appear late.
document.documentElement.classList.add("scripted");

/** The button turns the dark sheet on or off; nothing is stored. */
function startTheme() {
  const button = document.querySelector("button.theme");
  const sheet = document.getElementById("dark");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let dark = system.matches;
  function show() {
    sheet.media = dark ? "screen" : "not all";
    button.textContent = dark ? "Light page" : "Dark page";
  }
  button.addEventListener("click", function () {
    dark = !dark;
    show();
  });
  system.addEventListener("change", function (event) {
    dark = event.matches;
    show();
  });
  show();
}

/** Beside the text the contents stay open; above it they open when asked. */
function startContents() {
  const contents = document.querySelector("details.contents");
  const wide = window.matchMedia("(min-width: 68rem)");
  function fold() {
    contents.open = wide.matches;
  }
  wide.addEventListener("change", fold);
  contents.addEventListener("click", function (event) {
    if (event.target.closest("a") && !wide.matches) contents.open = false;
  });
  fold();
}

/** Mark the entry of the section that is being read. */
function followReading() {
  const links = new Map();
  for (const link of document.querySelectorAll(".contents a")) {
    links.set(decodeURIComponent(link.hash.slice(1)), link);
  }
  const watcher = new IntersectionObserver(
    function (entries) {
      for (const entry of entries) {
        const link = links.get(entry.target.id);
        link.classList.toggle("current", entry.isIntersecting);
      }
    },
    { rootMargin: "-20% 0px -75% 0px" },
  );
  for (const anchor of links.keys()) {
    const section = document.getElementById(anchor);
    if (section) watcher.observe(section);
  }
}

/** Open what a link leads into, and everything for paper. */
function startFolds() {
  function open(element) {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  }
  function follow() {
    const aim = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!aim) return;
    open(aim);
    const inside = aim.querySelector(":scope > details");
    if (inside) inside.open = true;
    aim.scrollIntoView();
  }
  window.addEventListener("hashchange", follow);
  if (location.hash) follow();
  let folded = [];
  window.addEventListener("beforeprint", function () {
    folded = Array.from(document.querySelectorAll("main details:not([open])"));
    for (const part of folded) part.open = true;
  });
  window.addEventListener("afterprint", function () {
    for (const part of folded) part.open = false;
  });
}

document.addEventListener("DOMContentLoaded", function () {
  startTheme();
  startFolds();
  startContents();
  followReading();
  startTables();
  startExplorers();
});
