"use strict";
/* The page's own script: rows for the charts, tables, CSV files, the search of a user, the theme.
   Whatever comes from a run is put into the page as text, never as HTML. */
(() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const charts = new Map(data.charts.map((chart) => [chart.name, chart]));
  const views = new Map();
  const decoded = new Map();
  const chosen = new Map();
  const root = document.documentElement;
  const MOST_RUNS = 8;
  const MOST_ROWS = 500;

  // Told apart by colour-blind readers (after Okabe and Ito), at least 3 : 1 on their background.
  const COLORS = {
    light: ["#0072b2", "#c25400", "#00805c", "#a8508a", "#7a6200", "#2b8fc9", "#5c6670", "#6a3d9a"],
    dark: ["#56b4e9", "#ff9d5c", "#2fc79a", "#e59ac7", "#e3cf57", "#8fd0f5", "#b8c0c8", "#c3a5f0"],
  };
  const MEANT = {
    light: { good: "#00805c", plain: "#0072b2", quiet: "#7b858f", warn: "#b87400", bad: "#c4161c" },
    dark: { good: "#2fc79a", plain: "#56b4e9", quiet: "#98a2ad", warn: "#e9b44c", bad: "#ff7b72" },
  };
  const DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 0], [6, 3], [2, 2], [8, 3, 2, 3]];

  const memory = {
    get(key) { try { return sessionStorage.getItem(key); } catch { return null; } },
    set(key, value) { try { sessionStorage.setItem(key, value); } catch { /* a page still works */ } },
  };

  /* ---------- tables ---------- */
  function rowsOf(name) {
    if (!decoded.has(name)) {
      const { columns, data: cells } = data.tables[name];
      const lists = cells.map((column) => Array.isArray(column) ? column
        : column.codes.map((code) => code === null ? null : column.levels[code]));
      decoded.set(name, lists.length ? lists[0].map((_, place) =>
        Object.fromEntries(columns.map((column, i) => [column, lists[i][place]]))) : []);
    }
    return decoded.get(name);
  }

  function csvOf(name) {
    const { columns } = data.tables[name];
    const cell = (value) => value === null ? ""
      : typeof value === "number" ? String(value)
        // A text that begins like a formula must not become one in a spreadsheet.
        : `"${(/^[=+\-@\t\r]/.test(value) ? "'" : "") + value.replaceAll('"', '""')}"`;
    const lines = rowsOf(name).map((row) => columns.map((column) => cell(row[column])).join(","));
    return [columns.map(cell).join(","), ...lines].join("\n") + "\n";
  }

  function download(name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csvOf(name)], { type: "text/csv" }));
    link.download = `${name}.csv`;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function shown(value, share) {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    if (share) return `${(100 * value).toFixed(1)} %`;
    return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(4)));
  }

  function tableOf(columns, rows, caption, shares) {
    const table = document.createElement("table");
    table.createCaption().textContent = caption;
    const head = table.createTHead().insertRow();
    const numeric = new Set(columns.filter((column) => rows.some((row) => typeof row[column] === "number")));
    for (const column of columns) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = column;
      if (numeric.has(column)) cell.className = "number";
      head.append(cell);
    }
    const body = table.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      for (const column of columns) {
        const cell = line.insertCell();
        cell.textContent = shown(row[column], shares.includes(column));
        if (numeric.has(column)) cell.className = "number";
      }
    }
    return table;
  }

  function fillTable(place) {
    if (place.childElementCount) return;
    const { columns, title, percent } = data.tables[place.dataset.table];
    const rows = rowsOf(place.dataset.table);
    const more = rows.length > MOST_ROWS ? ` (the first ${MOST_ROWS} of ${rows.length}; the CSV file has all)` : "";
    place.tabIndex = 0;
    place.setAttribute("role", "region");
    place.setAttribute("aria-label", title);
    place.append(tableOf(columns, rows.slice(0, MOST_ROWS), title + more, percent));
  }

  /* ---------- charts ---------- */
  const theme = () => root.dataset.theme === "dark" ? "dark" : "light";
  const boxes = () => [...document.querySelectorAll("#run-choice input")];
  function drawnRuns() {
    const all = boxes();
    return all.length ? data.runs.filter((_, place) => all[place].checked) : data.runs;
  }

  function filled(spec, rows) {
    const drawn = drawnRuns();
    const colors = COLORS[theme()];
    // A run keeps its colour in every chart, and has no entry in a legend where it has no rows.
    const present = new Set(rows.map((row) => row.run));
    const runs = drawn.filter((run) => present.has(run));
    const place = (run) => drawn.indexOf(run) % MOST_RUNS;
    const walk = (value) => {
      if (Array.isArray(value)) return value.map(walk);
      if (value === null || typeof value !== "object") return value;
      if (value.$runs) return { domain: runs, range: runs.map((run) => colors[place(run)]) };
      if (value.$dashes) return { domain: runs, range: runs.map((run) => DASHES[place(run)]) };
      if (value.$palette) return { range: colors };
      if (value.$meant) {
        const seen = new Set(rows.flatMap((row) => [row.call, row.kind]));
        const kinds = Object.keys(value.$meant).filter((kind) => seen.has(kind));
        return { domain: kinds, range: kinds.map((kind) => MEANT[theme()][value.$meant[kind]]) };
      }
      const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner)]));
      if (copy.type === "nominal" && copy.legend) {
        copy.legend = { ...copy.legend, labelExpr: "legendNames[datum.label]" };
      }
      if (copy.$ink) {
        delete copy.$ink;
        copy.color = getComputedStyle(root).getPropertyValue("--ink").trim();
      }
      return copy;
    };
    return walk(spec);
  }

  function rowsFor(chart) {
    const runs = new Set(drawnRuns());
    const where = Object.entries(chart.where);
    const choice = chosen.get(chart.name);
    return rowsOf(chart.table).filter((row) =>
      where.every(([column, value]) => row[column] === value)
      && (!chart.choose || row[chart.choose] === choice)
      && (!chart.runs || !("run" in row) || runs.has(row.run)));
  }

  /* Names that have room: whole, or without the parts that all share (a sweep puts "_" between
     parts), or cut in the middle, as what tells them apart may be at either end. */
  const ruler = document.createElement("canvas").getContext("2d");
  function widthOf(text) {
    ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    return ruler.measureText(text).width;
  }
  function cutTo(text, limit) {
    const cut = (most) => `${text.slice(0, Math.ceil(most / 2))}…${text.slice(-Math.floor(most / 2))}`;
    let most = text.length - 1;
    while (most > 4 && widthOf(cut(most)) > limit) most -= 1;
    return cut(most);
  }
  function shortNames(names, limit) {
    if (names.every((name) => widthOf(name) <= limit)) return new Map(names.map((name) => [name, name]));
    const parts = names.map((name) => name.split("_"));
    const shared = parts.length > 1 ? parts[0].filter((part) => parts.every((one) => one.includes(part))) : [];
    return new Map(names.map((name, place) => {
      const own = parts[place].filter((part) => !shared.includes(part)).join("_") || name;
      return [name, widthOf(own) <= limit ? own : cutTo(own, limit)];
    }));
  }

  // Of lanes with two names, a run and what happened, a narrow window has one below the other.
  const isTwofold = (chart, narrow) => narrow && chart.lanes.length === 2;
  function laneNames(chart, rows, narrow) {
    const limit = narrow ? 134 : 260;
    const of = (lane) => [...new Set(rows.map((row) => String(row[lane] ?? "")))];
    const [first, second] = chart.lanes.map((lane) => shortNames(of(lane), limit));
    if (!second) return first ?? new Map();
    const twofold = isTwofold(chart, narrow);
    return new Map([...first].flatMap(([one, short]) => [...second].map(([other, kind]) =>
      [`${one}: ${other}`, twofold ? [short, kind] : `${short}: ${kind}`])));
  }
  const legendField = (chart) => JSON.stringify(chart.spec).match(/"color":\{"field":"([^"]+)"/)?.[1];

  // Vega breaks a legend where it is told to, not where the place ends.
  function legendColumns(names, width) {
    const widest = Math.max(0, ...[...names.values()].map(widthOf));
    return Math.max(1, Math.min(4, Math.floor((width - 90) / (widest + 40))));
  }

  function config(chart, width, columns) {
    const narrow = width < 480;
    const style = getComputedStyle(root);
    const color = (name) => style.getPropertyValue(name).trim();
    const font = getComputedStyle(document.body).fontFamily;
    return {
      background: "transparent", font,
      view: { stroke: null },
      axis: {
        labelColor: color("--soft"), titleColor: color("--soft"), domainColor: color("--line"),
        tickColor: color("--line"), gridColor: color("--line"), gridOpacity: 0.6,
        labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500,
        labelLimit: narrow ? 150 : 280, labelOverlap: true,
      },
      axisX: { tickCount: narrow ? 4 : 8, labelSeparation: 6 },
      axisY: { tickCount: 6 },
      axisYDiscrete: chart.lanes.length
        ? { labelExpr: "laneNames[datum.label]", labelOffset: isTwofold(chart, narrow) ? -7 : 0 } : {},
      legend: {
        orient: "top", direction: narrow ? "vertical" : "horizontal", labelColor: color("--ink"),
        titleColor: color("--soft"), labelFontSize: 12, labelLimit: Math.max(120, width - 90),
        columns, symbolStrokeWidth: 2, gradientLength: narrow ? 160 : 200,
      },
      rule: { color: color("--soft") },
    };
  }

  async function draw(chart) {
    const place = document.getElementById(`chart-${chart.name}`);
    const rows = rowsFor(chart);
    place.dataset.rows = rows.length;
    views.get(chart.name)?.finalize();
    views.delete(chart.name);
    if (!rows.length) {
      place.classList.remove("vega-embed");
      delete place.dataset.drawn;
      place.textContent = "Nothing to draw for this choice.";
      return;
    }
    const narrow = place.clientWidth < 480;
    const field = legendField(chart);
    const inLegend = shortNames([...new Set(rows.map((row) => String(row[field])))], place.clientWidth - 100);
    const spec = {
      ...filled(chart.spec, rows),
      data: { values: rows },
      description: chart.description,
      params: [
        { name: "legendNames", value: Object.fromEntries(inLegend) },
        { name: "laneNames", value: Object.fromEntries(laneNames(chart, rows, narrow)) },
      ],
    };
    if (chart.step) {
      const lanes = new Set(rows.map((row) => chart.lanes.map((lane) => row[lane]).join(": ")));
      const step = isTwofold(chart, narrow) ? Math.max(chart.step, 36) : chart.step;
      spec.height = step * Math.min(lanes.size, chart.most ?? Infinity);
    }
    const result = await vegaEmbed(place, spec, {
      mode: "vega-lite", renderer: chart.canvas ? "canvas" : "svg", actions: false, ast: true,
      defaultStyle: false, tooltip: { theme: theme() },
      config: config(chart, place.clientWidth, legendColumns(inLegend, place.clientWidth)),
    });
    views.set(chart.name, result);
    if (chart.canvas) {
      place.setAttribute("role", "img");
      place.setAttribute("aria-label", chart.description);
    }
    result.view.addEventListener("click", (_, item) => {
      if (item?.datum?.user) tell(item.datum.user, true);
    });
    place.dataset.drawn = theme();
  }

  let drawing = Promise.resolve();
  function drawAll(names) {
    const wanted = names ? names.map((name) => charts.get(name)) : [...charts.values()];
    drawing = drawing.then(async () => {
      for (const chart of wanted) {
        await draw(chart);
        await new Promise((done) => setTimeout(done));  // let the reader scroll meanwhile
      }
      document.body.dataset.ready = "true";
    });
    return drawing;
  }

  function paintSwatches() {
    const runs = drawnRuns();
    const all = boxes();
    all.forEach((box, place) => {
      const order = runs.indexOf(data.runs[place]);
      const swatch = box.nextElementSibling;
      swatch.style.background = order < 0 ? "" : COLORS[theme()][order % 8];
      box.disabled = !box.checked && runs.length >= MOST_RUNS || box.checked && runs.length === 1;
    });
  }

  /* ---------- one user ---------- */
  const search = document.getElementById("user-search");
  const userNames = search ? [...new Set(rowsOf("story-end").map((row) => row.user))] : [];

  function tell(name, jump) {
    if (!search) return;
    const wanted = name.trim().toLowerCase();
    const user = userNames.find((one) => one.toLowerCase() === wanted)
      ?? userNames.find((one) => wanted && one.toLowerCase().includes(wanted));
    const facts = document.getElementById("story-facts");
    facts.replaceChildren();
    if (!user) {
      const sentence = document.createElement("p");
      sentence.textContent = name.trim() ? `There is no user called "${name}" here.` : "Choose a user.";
      facts.append(sentence);
      chosen.set("story-curve", null);
      drawAll(["story-curve"]);
      return;
    }
    if (jump) {
      search.value = user;
      document.getElementById("story").scrollIntoView();
    }
    memory.set("user", user);
    const rows = rowsOf("story-end").filter((row) => row.user === user);
    const columns = data.tables["story-end"].columns.filter((column) =>
      column !== "user" && rows.some((row) => row[column] !== null
        && (column !== "kind" || row.kind !== "honest") && (column !== "seeds" || row.seeds > 1)));
    const over = rows.some((row) => row.seeds > 1) ? "; the mean over seeds, counts their sum" : "";
    facts.append(tableOf(columns, rows,
      `${user} at the end of every run: its test ${data.measure} with a 95 % interval (low, high)${over}`,
      data.tables["story-end"].percent));
    const gains = "gains" in data.tables ? rowsOf("gains").filter((row) => row.user === user) : [];
    if (gains.length) {
      const told = ["pair", "theirs", "ours", "gain", "gain low", "gain high", "call"].filter((column) =>
        gains.some((row) => row[column] !== null));
      facts.append(tableOf(told, gains, `${user}: what it gains`, data.tables.gains.percent));
    }
    chosen.set("story-curve", user);
    drawAll(["story-curve"]);
  }

  /* ---------- what the reader does ---------- */
  function setTheme(name, redraw) {
    root.dataset.theme = name;
    const button = document.getElementById("theme");
    button.textContent = name === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-pressed", String(name === "dark"));
    paintSwatches();
    if (redraw) drawAll();
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(memory.get("theme") ?? (dark.matches ? "dark" : "light"), false);
  document.getElementById("theme").addEventListener("click", () => {
    const next = theme() === "dark" ? "light" : "dark";
    memory.set("theme", next);
    setTheme(next, true);
  });
  dark.addEventListener("change", () => {
    if (!memory.get("theme")) setTheme(dark.matches ? "dark" : "light", true);
  });

  for (const select of document.querySelectorAll("select[data-chart]")) {
    const chart = charts.get(select.dataset.chart);
    const values = [...new Set(rowsOf(chart.table).map((row) => row[chart.choose]))];
    for (const value of values) select.add(new Option(value, value));
    const kept = memory.get(`choice-${chart.name}`);
    select.value = values.includes(kept) ? kept : values[0];
    // Charts of one table that are chosen by one column go together.
    const together = [...charts.values()].filter((one) => one.table === chart.table && one.choose === chart.choose);
    const choose = () => together.forEach((one) => chosen.set(one.name, select.value));
    choose();
    select.addEventListener("change", () => {
      choose();
      memory.set(`choice-${chart.name}`, select.value);
      drawAll(together.map((one) => one.name));
    });
  }

  for (const button of document.querySelectorAll("button.csv")) {
    button.addEventListener("click", () => download(button.dataset.table));
  }
  for (const details of document.querySelectorAll("details.numbers-of")) {
    details.addEventListener("toggle", () => {
      if (details.open) details.querySelectorAll(".rows").forEach(fillTable);
    });
  }
  for (const box of boxes()) {
    box.addEventListener("change", () => {
      memory.set("runs", JSON.stringify(drawnRuns()));
      paintSwatches();
      drawAll([...charts.values()].filter((chart) => chart.runs).map((chart) => chart.name));
    });
  }
  const keptRuns = JSON.parse(memory.get("runs") ?? "null");
  if (Array.isArray(keptRuns) && keptRuns.some((run) => data.runs.includes(run))) {
    boxes().forEach((box, place) => { box.checked = keptRuns.includes(data.runs[place]); });
    paintSwatches();
  }
  if (search) {
    const facts = document.getElementById("story-facts");
    facts.tabIndex = 0;  // where it is wider than the window, keys must move it
    facts.setAttribute("role", "region");
    facts.setAttribute("aria-label", "How the chosen user fared");
    const names = document.getElementById("user-names");
    for (const name of userNames) names.append(new Option(name, name));
    search.value = memory.get("user") ?? userNames[0] ?? "";
    search.addEventListener("change", () => tell(search.value, false));
    search.addEventListener("input", () => {
      if (userNames.includes(search.value)) tell(search.value, false);
    });
    chosen.set("story-curve", search.value);
  }

  let wasNarrow = innerWidth < 900;
  addEventListener("resize", () => {
    if ((innerWidth < 900) !== wasNarrow) {
      wasNarrow = innerWidth < 900;
      drawAll();
    }
  });

  drawAll();
  if (search) tell(search.value, false);

  /* ---------- a run that goes on ---------- */
  // What is unfolded and where the reader is, by section: the next page may have more of them.
  const sections = () => [...document.querySelectorAll("main > section")];
  function keyOf(details) {
    const section = details.closest("section");
    return `${section.id}/${[...section.querySelectorAll("details")].indexOf(details)}`;
  }
  function keepPlace() {
    const open = [...document.querySelectorAll("details[open]")].map(keyOf);
    const here = sections().findLast((one) => one.getBoundingClientRect().top <= 80);
    memory.set("open", JSON.stringify(open));
    memory.set("place", JSON.stringify(here
      ? { section: here.id, offset: -here.getBoundingClientRect().top } : { section: null, offset: scrollY }));
  }
  function findPlace() {
    const open = JSON.parse(memory.get("open") ?? "[]");
    for (const one of document.querySelectorAll("details")) {
      if (open.includes(keyOf(one))) one.open = true;
    }
    const place = JSON.parse(memory.get("place") ?? "null");
    memory.set("open", "[]");
    memory.set("place", "null");
    if (!place) return;
    drawing.then(() => {
      const section = place.section && document.getElementById(place.section);
      const top = section ? section.getBoundingClientRect().top + scrollY : 0;
      scrollTo({ top: top + place.offset, behavior: "instant" });
    });
  }
  if (data.refresh) {
    let touched = 0;
    for (const kind of ["pointermove", "keydown", "wheel", "touchstart"]) {
      addEventListener(kind, () => { touched = Date.now(); }, { passive: true });
    }
    // Not before it is drawn: a page that takes longer than that would never be seen.
    drawing.then(() => setInterval(() => {
      if (document.hidden || Date.now() - touched < 3000) return;
      keepPlace();
      location.reload();
    }, 1000 * data.refresh));
  }
  findPlace();
})();
