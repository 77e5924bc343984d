// Draws the page from the data. Charts are as wide as the window and are drawn again when that changes.

window.addEventListener("error", (event) => { document.body.dataset.error = event.message; });
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const indexOf = (engine) => data.engines.findIndex((one) => one.name === engine);
const ours = (layer) => layer.engines[0];
const percent = (share) => short(100 * share) + " %";
const spread = (timing, suffix) =>
  (timing["third_quartile" + suffix] - timing["first_quartile" + suffix]) / (2 * timing["median" + suffix]);

// --- The ratio of each layer: a row of bars per layer, from 1 to the ratio

function drawRatios(width) {
  const layers = data.layers.filter((layer) => layer.engines.some((one) => one.ratio));
  at("by-layer").hidden = layers.length === 0;
  if (layers.length === 0) return;
  const bar = 10, gap = 10, head = 26;
  const names = labelRoom(layers.map((layer) => layer.name), width);
  const ratios = layers.flatMap((layer) => layer.engines).filter((one) => one.ratio).flatMap((one) =>
    [one.ratio.first_quartile, one.ratio.third_quartile, one.ratio.median]);
  const scale = logScale([...ratios, 1], names + 34, width - 40);
  const rows = layers.map((layer) => layer.engines.filter((one) => one.ratio));
  const bottom = head + rows.reduce((sum, row) => sum + row.length * bar + gap, 0);
  const picture = canvas(width, bottom + 44, "ratio of each layer and engine");
  layers.forEach((layer, i) => {
    if (i % 2 === 1) return;
    const top = head + rows.slice(0, i).reduce((sum, row) => sum + row.length * bar + gap, 0);
    picture.append(svg("rect", {x: 0, y: top, width, height: rows[i].length * bar + gap, class: "band"}));
  });
  xAxis(picture, scale, scale.ticks, (tick) => short(tick) + "×", "their time / pooljit's time", head, bottom);
  for (const tick of scale.ticks) picture.append(text(scale.at(tick), 16, short(tick) + "×", {"text-anchor": "middle"}));
  let y = head + gap / 2;
  layers.forEach((layer, i) => {
    picture.append(label(layer.name, names, y + rows[i].length * bar / 2 + 4, names));
    for (const one of rows[i]) {
      picture.append(ratioBar(layer, one, scale, y, bar));
      y += bar;
    }
    y += gap;
  });
  picture.append(line(scale.at(1), head, scale.at(1), bottom, "axis"));
  at("ratios").append(picture);
}

function ratioBar(layer, one, scale, y, bar) {
  const end = scale.at(one.ratio.median), start = scale.at(1), middle = y + bar / 2;
  const group = svg("g", {class: "bar", fill: colour(indexOf(one.engine))});
  group.append(svg("rect", {x: Math.min(start, end).toFixed(1), y: y + 2, height: bar - 4, width: Math.abs(end - start).toFixed(1)}));
  group.append(line(scale.at(one.ratio.first_quartile), middle, scale.at(one.ratio.third_quartile), middle, "whisker"));
  group.append(mark(indexOf(one.engine), end, middle));
  const outer = one.ratio.median >= 1 ? Math.max(end, scale.at(one.ratio.third_quartile)) + 7
                                      : Math.min(end, scale.at(one.ratio.first_quartile)) - 7;
  group.append(text(outer, middle + 3.5, one.ratio.median.toFixed(2),
                    {class: "small", "text-anchor": one.ratio.median >= 1 ? "start" : "end"}));
  group.append(svg("title", {}, `${layer.name}, ${one.engine}: ${one.ratio.median.toFixed(2)} times pooljit's time of ` +
                                secondsText(ours(layer).call.median_seconds)));
  return group;
}

// --- The roofline

function drawRoofline(width) {
  const points = data.layers.flatMap((layer) => layer.engines.map((one) => ({layer, one})));
  const bytes = (layer) => layer.bytes_read + layer.bytes_written;
  const footprints = [...data.roofline.map((one) => one.bytes), ...points.map(({layer}) => bytes(layer))];
  const speeds = [...data.roofline.map((one) => one.bytes_per_second), ...points.map(({one}) => one.bytes_per_second)];
  if (footprints.length === 0) return;
  const height = Math.min(560, Math.max(360, width * 0.5)), top = 44, bottom = height - 46, left = 62, right = width - 14;
  const x = logScale(footprints, left, right), y = logScale(speeds.map((one) => one / 1e9), bottom, top, 34);
  const picture = canvas(width, height, "bytes per second of each layer over its footprint");
  xAxis(picture, x, powersOfTwo(footprints, right - left, 62).filter((tick) => x.at(tick) >= left && x.at(tick) <= right),
        bytesText, "bytes of input, output and indices", top, bottom);
  yAxis(picture, y, short, "GB/s", left, right);
  data.caches.forEach((cache, i) => {
    if (!cache || x.at(cache) < left || x.at(cache) > right) return;
    picture.append(line(x.at(cache), top - 8, x.at(cache), bottom, "cache"));
    picture.append(text(x.at(cache), top - 12, `L${i + 1}`, {"text-anchor": "middle", class: "small"}));
  });
  const roof = data.roofline.map((one) => `${x.at(one.bytes).toFixed(1)},${y.at(one.bytes_per_second / 1e9).toFixed(1)}`);
  picture.append(svg("polyline", {points: roof.join(" "), class: "roof"}, svg("title", {}, "copy bandwidth")));
  points.sort((a, b) => indexOf(b.one.engine) - indexOf(a.one.engine));  // pooljit on top
  for (const {layer, one} of points)
    picture.append(mark(indexOf(one.engine), x.at(bytes(layer)), y.at(one.bytes_per_second / 1e9),
                        `${layer.name}, ${one.engine}: ${short(one.bytes_per_second / 1e9)} GB/s, ${percent(one.share_of_copy_bandwidth)} of a copy`));
  at("roofline").append(picture);
}

// --- Families: cost over one number

// One point is no curve.
function tellOfOnePoint(family) {
  const [member] = family.members, one = ours(member);
  const why = family.name === "threads" ? "this process may use one processor" : "the others were not measured";
  return element("div", {}, element("h3", {}, `Over ${family.axis}`),
    element("p", {}, `One point, no curve, as ${why}: ${family.axis} ${member.value} takes ${secondsText(one.call.median_seconds)} ` +
                     `of ${member.spec}.`));
}

function drawFamily(family, width) {
  if (family.members.length === 1) return tellOfOnePoint(family);
  const cost = (member, one) => one.call.median_seconds / member.outputs * 1e9;
  const values = family.members.map((member) => member.value);
  const costs = family.members.flatMap((member) => member.engines.map((one) => cost(member, one)));
  const height = 300, top = 28, bottom = height - 46, left = 56, right = width - 14;
  const x = logScale(values, left, right), y = logScale(costs, bottom, top, 34);
  const picture = canvas(width, height, `time per output over ${family.axis}`);
  xAxis(picture, x, values, String, family.axis, top, bottom);
  yAxis(picture, y, short, "ns per output element", left, right);
  [...data.engines.keys()].reverse().forEach((index) => {
    const seen = family.members.flatMap((member) =>
      member.engines.filter((one) => one.engine === data.engines[index].name).map((one) => ({member, one})));
    const place = ({member, one}) => [x.at(member.value), y.at(cost(member, one))];
    picture.append(svg("polyline", {points: seen.map((one) => place(one).map((n) => n.toFixed(1)).join(",")).join(" "),
                                    class: "line", stroke: colour(index)}));
    for (const one of seen)
      picture.append(mark(index, ...place(one), `${data.engines[index].name}, ${family.name} ${one.member.value}: ` +
                          `${secondsText(one.one.call.median_seconds)}, ${short(cost(one.member, one.one))} ns per output element`));
  });
  return element("div", {class: "chart"}, element("h3", {}, `Over ${family.axis}`), picture,
                 element("p", {}, element("small", {}, `${family.members[0].spec}${family.members.length > 1 ? " and so on" : ""}`)));
}

function drawFamilies() {
  at("growth").hidden = data.families.length === 0;
  const holders = data.families.map(() => at("families").appendChild(element("div", {})));
  holders.forEach((holder, i) => holder.append(drawFamily(data.families[i], Math.floor(holder.clientWidth))));
}

// --- Compile times

function drawCompile(width) {
  if (data.layers.length === 0) return;
  const row = 16, head = 8, bottom = head + row * data.layers.length;
  const names = labelRoom(data.layers.map((layer) => layer.name), width);
  const timing = (layer) => layer.compile;
  const scale = logScale(data.layers.flatMap((layer) =>
    [timing(layer).first_quartile_seconds, timing(layer).third_quartile_seconds]), names + 14, width - 60);
  const picture = canvas(width, bottom + 44, "compile time of each layer");
  xAxis(picture, scale, scale.ticks, secondsText, "compile time, text to callable", head, bottom);
  data.layers.forEach((layer, i) => {
    const y = head + row * i + row / 2;
    picture.append(label(layer.name, names, y + 4, names));
    picture.append(line(scale.at(timing(layer).first_quartile_seconds), y, scale.at(timing(layer).third_quartile_seconds), y, "whisker"));
    picture.append(mark(0, scale.at(timing(layer).median_seconds), y, `${layer.name}: ${secondsText(timing(layer).median_seconds)}`));
    picture.append(text(scale.at(timing(layer).third_quartile_seconds) + 8, y + 3.5, secondsText(timing(layer).median_seconds), {class: "small"}));
  });
  at("compile").append(picture);
}

// --- Tables

const microseconds = (seconds) => String(Number((seconds * 1e6).toPrecision(4)));
const percentile = (name) =>
  ({head: `${name}, µs`, value: (layer, one) => one.call[`${name}_seconds`], show: microseconds});
const allColumns = [
  {head: "layer", value: (layer) => layer.name, kind: "name"},
  {head: "engine", value: (layer, one) => data.engines.length > 1 ? one.engine : undefined, kind: "name"},
  {head: "dtype", value: (layer) => layer.dtype, kind: "name"},
  {head: "time, µs", value: (layer, one) => one.call.median_seconds * 1e6, show: (v) => String(Number(v.toPrecision(4)))},
  ...["p10", "p90", "p99"].map(percentile),
  {head: "spread, %", value: (layer, one) => 100 * spread(one.call, "_seconds"), show: (v) => v.toFixed(1)},
  {head: "ratio", value: (layer, one) => one.ratio && one.ratio.median, show: (v) => v.toFixed(2)},
  {head: "its spread, %", value: (layer, one) => one.ratio && 100 * spread(one.ratio, ""), show: (v) => v.toFixed(1)},
  {head: "GB/s", value: (layer, one) => one.bytes_per_second / 1e9, show: short},
  {head: "of copy, %", value: (layer, one) => 100 * one.share_of_copy_bandwidth, show: (v) => v.toFixed(0)},
  {head: "set-up, µs", value: (layer, one) => one.setup_seconds && one.setup_seconds * 1e6, show: short},
  {head: "results that differ", value: (layer, one) => one === ours(layer) ? undefined : one.differences, show: String},
  {head: "spec, schedule", kind: "long",
   value: (layer, one) => one === ours(layer) ? `${layer.spec}\n${layer.schedule} (${layer.schedule_origin})` : layer.spec},
];
const results = data.layers.flatMap((layer) => layer.engines.map((one) => ({layer, one})));
// A column that nothing is known for is left out.
const columns = allColumns.filter((column) => results.some(({layer, one}) => column.value(layer, one) !== undefined));
const allRows = results.map(({layer, one}) => columns.map((column) => column.value(layer, one)));
let sorted = {column: -1, descending: false};

function cell(column, value) {
  if (column.kind) return element("td", {class: column.kind}, ...breakable(value));
  const wrong = column.head === "results that differ" && value > 0;
  return element("td", {class: wrong ? "number wrong" : "number"}, value === undefined ? "" : column.show(value));
}

// Numbers by size, texts by letters; what is missing comes last either way.
function compare(a, b) {
  if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
  const order = typeof a === "number" ? a - b : a.localeCompare(b);
  return sorted.descending ? -order : order;
}

function sortBy(index) {
  sorted = {column: index, descending: sorted.column === index && !sorted.descending};
  document.querySelectorAll("#rows th").forEach((head, i) =>
    head.setAttribute("aria-sort", i !== index ? "none" : sorted.descending ? "descending" : "ascending"));
  fillRows();
}

function fillRows() {
  const words = at("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = allRows.filter((row) => words.every((word) => row.some((value) => String(value).toLowerCase().includes(word))));
  if (sorted.column >= 0) rows.sort((a, b) => compare(a[sorted.column], b[sorted.column]));
  const body = rows.map((row) => element("tr", {}, ...row.map((value, i) => cell(columns[i], value))));
  document.querySelector("#rows tbody").replaceChildren(...body);
  at("count").textContent = `${rows.length} of ${allRows.length} rows`;
}

function simpleTable(id, heads, rows) {
  const made = (tag, row) => element("tr", {}, ...row.map((value) => typeof value === "number"
    ? element(tag, {class: "number"}, value.toFixed(2)) : element(tag, {}, ...breakable(value))));
  if (heads.length > 0) at(id).append(element("thead", {}, made("th", heads)));
  at(id).append(element("tbody", {}, ...rows.map((row) => made("td", row))));
}

function fillTables() {
  const heads = columns.map((column, i) => {
    const button = element("button", {type: "button"}, column.head);
    button.addEventListener("click", () => sortBy(i));
    return element("th", {"aria-sort": "none", scope: "col", class: column.kind ? "" : "number"}, button);
  });
  at("rows").append(element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}));
  at("filter").addEventListener("input", fillRows);
  fillRows();
  at("compared").hidden = data.summaries.length === 0;
  // What matters most is seen first where the window is narrow.
  simpleTable("summary", ["engine", "geometric mean of ratios", "least ratio", "of layer", "layers compared", "version"],
    data.engines.map((engine) => {
      const found = data.summaries.find((one) => one.engine === engine.name);
      const numbers = found ? [found.geometric_mean, found.least, found.least_layer, String(found.layers)] : ["", "", "", ""];
      return [engine.name, ...numbers, engine.version];
    }));
  const left = [...data.absent.map((one) => ["every layer", one.engine, one.why]),
                ...data.refused.map((one) => [one.name, "pooljit", `${one.id}: ${one.why}`]),
                ...data.layers.flatMap((layer) => layer.left_out.map((one) => [layer.name, one.engine, one.why]))];
  at("missing").hidden = left.length === 0;
  at("left-out-count").textContent = left.length === 1 ? "1 comparison is left out" : `${left.length} comparisons are left out`;
  simpleTable("left-out", ["layer", "engine", "why"], left);
  simpleTable("facts", [], [...Object.entries(data.machine), ...data.engines.map((one) => [one.name, one.version])]);
  at("command").textContent = data.command;
}

const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

function fillHeadline() {
  const isAlone = data.engines.length === 1;
  if (isAlone) at("title").textContent = "pooljit, layer by layer";
  document.title = at("title").textContent;
  const engines = isAlone ? "" : counted(data.engines.length, "engine") + ", ";
  at("headline").textContent = `${counted(data.layers.length, "layer")}, ${engines}${data.date}, ${data.machine.processor}. `;
  at("busy").hidden = data.disturbances.length === 0;
  at("busy").textContent = `The machine was busy: these times may be wrong. ${data.disturbances.map((one) => one[0].toUpperCase() + one.slice(1) + ".").join(" ")}`;
  document.querySelectorAll(".beside").forEach((words) => { words.hidden = isAlone; });
  document.querySelectorAll(".measured").forEach((section) => { section.hidden = data.layers.length === 0; });
  if (!data.complete) at("headline").append(element("span", {class: "incomplete"}, "Stopped before it was done."));
  document.querySelectorAll(".legend").forEach((legend) => {
    legend.hidden = isAlone && !legend.dataset.roof;
    legend.append(...data.engines.map((one, i) => one.name === legend.dataset.without ? "" : legendEntry(mark(i, 0, 0), one.name)));
    if (legend.dataset.roof) legend.append(legendEntry(line(-7, 0, 7, 0, "roof"), legend.dataset.roof));
  });
}

function drawCharts() {
  for (const id of ["ratios", "roofline", "compile", "families"]) at(id).replaceChildren();
  drawRatios(at("ratios").clientWidth);
  drawRoofline(at("roofline").clientWidth);
  drawCompile(at("compile").clientWidth);
  drawFamilies();
}

fillHeadline();
fillTables();
drawCharts();
let drawnWidth = document.body.clientWidth;
window.addEventListener("resize", () => {
  if (document.body.clientWidth === drawnWidth) return;
  drawnWidth = document.body.clientWidth;
  drawCharts();
});
document.body.dataset.state = "drawn";
