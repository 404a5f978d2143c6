// Search and filter of the claims page: plain, offline, nothing but the rows that are already there.
document.addEventListener("DOMContentLoaded", () => {
  const controls = document.getElementById("claims-controls");
  if (!controls) return;
  const search = document.getElementById("claims-search");
  const shown = document.getElementById("claims-shown");
  const buttons = [...controls.querySelectorAll("button[data-verdict]")];
  const rows = [...document.querySelectorAll("tr.claim-row")].map(row => ({
    row,
    id: row.id.replace("claim-", ""),
    verdict: [...row.classList].find(name => name.startsWith("row-") && !/^row-(odd|even)$/.test(name)).slice(4),
    // Formulas are drawn after this: a hidden copy of their TeX stays searchable.
    text: row.textContent.toLowerCase().replace(/\s+/g, " "),
    section: row.closest("section"),
  }));
  let verdict = "all";

  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const open = new Set();
    let count = 0;
    for (const { row, id, verdict: own, text, section } of rows) {
      // A word that looks like an id means that claim, so that "d1" does not bring D10 to D19.
      const fits = words.every(word => (/^[a-h]\d+$/.test(word) ? id === word : text.includes(word)));
      row.hidden = !(fits && (verdict === "all" || verdict === own));
      if (!row.hidden) { count += 1; open.add(section); }
    }
    for (const { section } of rows) section.hidden = !open.has(section);
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
    shown.textContent = count === rows.length ? "" : `${count} of ${rows.length} claims are shown.`;
  }

  function reveal() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.closest("[hidden]")) return;
    verdict = "all";
    search.value = "";
    show();
    target.scrollIntoView();
  }

  search.addEventListener("input", show);
  for (const button of buttons)
    button.addEventListener("click", () => { verdict = button.dataset.verdict; show(); });
  window.addEventListener("hashchange", reveal);
  controls.hidden = false;
  show();
});
