"use strict";
// Charts as plain SVG: logarithmic axes, marks that differ in shape and colour. Nothing here knows what is shown.

const svgSpace = "http://www.w3.org/2000/svg";

// element("a", {href: "#"}, "text", child): HTML; svg(...): SVG.
function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
const element = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(svgSpace, tag), attributes, children);

// A text that may go on in the next line behind these signs and blanks, never within a word.
const breakable = (content) => String(content).split(/(?<=[\/,(;|])(?=\S)/).flatMap((part, i) => i === 0 ? [part] : [element("wbr"), part]);

const bytesText = (bytes) => scaled(bytes, [[2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]]);
const secondsText = (seconds) => scaled(seconds, [[1, " s"], [1e-3, " ms"], [1e-6, " µs"], [1e-9, " ns"]]);
function scaled(value, units) {
  const [size, unit] = units.find(([size]) => value >= size * 0.9995) || units[units.length - 1];
  return short(value / size) + unit;
}
const short = (number) => String(Number(number.toPrecision(3)));

// A logarithmic scale over all values, with some air; `at` gives the position, `ticks` round values.
function logScale(values, from, to, tickEvery) {
  const known = values.filter((value) => value > 0);
  const low = Math.log(Math.min(...known)), high = Math.log(Math.max(...known));
  const air = Math.max(0.05, (high - low) * 0.05), first = low - air, last = high + air;
  const at = (value) => from + (to - from) * (Math.log(value) - first) / (last - first);
  return {at, from, to, ticks: roundTicks(Math.exp(first), Math.exp(last), Math.abs(to - from), tickEvery || 70)};
}

// 1, 2 and 5 of each power of ten; fewer where the room is small.
function roundTicks(low, high, room, every) {
  const powers = Math.log10(high / low);
  const steps = room / every >= powers * 3 ? [1, 2, 5] : room / every >= powers * 2 ? [1, 3] : [1];
  const thin = Math.max(1, Math.ceil(powers * every / room));
  const within = (factors) => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
      for (const factor of factors)
        if (factors.length > 1 || power % thin === 0) ticks.push(Number((factor * 10 ** power).toPrecision(3)));
    return ticks.filter((tick) => tick >= low && tick <= high);
  };
  const ticks = within(steps);
  if (ticks.length > 1) return ticks;
  // Of a short range its ends, if there is room for both.
  const fine = within([1, 2, 5]), ends = [fine[0], fine[fine.length - 1]];
  const apart = (a, b) => room * Math.log10(b / a) / powers >= every * 0.7;
  if (fine.every((tick, i) => i === 0 || apart(fine[i - 1], tick))) return fine;
  return apart(...ends) ? ends : ticks.length > 0 ? ticks : ends.slice(0, 1);
}

const powersOfTwo = (values, room, every) => {
  const low = Math.floor(Math.log2(Math.min(...values))), high = Math.ceil(Math.log2(Math.max(...values)));
  const step = Math.max(1, Math.ceil((high - low) * every / room));
  const ticks = [];
  for (let power = low; power <= high; power += step) ticks.push(2 ** power);
  return ticks;
};

// The shapes, all of about one size around (0, 0).
const shapes = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", "M-3.5 -3.5h7v7h-7z", "M0 -4.8L4.6 3.4H-4.6z", "M0 -5L5 0L0 5L-5 0z",
  "M0 4.8L4.6 -3.4H-4.6z", "M-1.5 -5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
  "M-4.5 -2.5l2-2l2.5 2.5l2.5 -2.5l2 2l-2.5 2.5l2.5 2.5l-2 2l-2.5 -2.5l-2.5 2.5l-2 -2l2.5 -2.5z", "M-5 -2h10v4h-10z",
];
const colour = (index) => `var(--e${index % 8})`;

function mark(index, x, y, title) {
  const made = svg("path", {d: shapes[index % shapes.length], fill: colour(index), class: "mark",
                            transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`});
  if (title) made.append(svg("title", {}, title));
  return made;
}

function legendEntry(drawn, name) {
  const picture = svg("svg", {width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true"}, drawn);
  return element("span", {}, picture, name);
}

const text = (x, y, content, attributes) => svg("text", {x: x.toFixed(1), y: y.toFixed(1), ...attributes}, content);
const line = (x1, y1, x2, y2, kind) =>
  svg("line", {x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1), class: kind});

function canvas(width, height, label) {
  return svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
}

// Vertical rules with their numbers below; the label under them.
function xAxis(picture, scale, ticks, format, label, top, bottom) {
  for (const tick of ticks) {
    picture.append(line(scale.at(tick), top, scale.at(tick), bottom, "rule"));
    picture.append(text(scale.at(tick), bottom + 16, format(tick), {"text-anchor": "middle"}));
  }
  picture.append(text((scale.from + scale.to) / 2, bottom + 36, label, {"text-anchor": "middle"}));
}

// Horizontal rules with their numbers; the label above the axis, where it can be read without turning the head.
function yAxis(picture, scale, format, label, left, right) {
  for (const tick of scale.ticks) {
    picture.append(line(left, scale.at(tick), right, scale.at(tick), "rule"));
    picture.append(text(left - 6, scale.at(tick) + 4, format(tick), {"text-anchor": "end"}));
  }
  picture.append(text(4, 14, label));
}

// As wide as a label of a chart is drawn.
const ruler = document.createElement("canvas").getContext("2d");
function textWidth(content) {
  ruler.font = "12px system-ui, sans-serif";
  return ruler.measureText(content).width;
}

// Room for the longest of some labels, but not more than a share of the picture.
const labelRoom = (contents, width) => Math.min(width * 0.42, 10 + Math.max(...contents.map(textWidth)));

// Cuts a text that is wider than the room, and then has the whole one as a title.
function label(content, right, y, room) {
  let cut = content;
  while (cut.length > 2 && textWidth(cut) > room - 4) cut = "…" + cut.slice(2);
  const made = text(right, y, cut, {"text-anchor": "end"});
  if (cut !== content) made.append(svg("title", {}, content));
  return made;
}
