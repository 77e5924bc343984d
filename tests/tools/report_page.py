#!/usr/bin/env python3
"""The page of `pooljit bench --report` in headless Chromium: every row, bar and point is there, sorting works, no text
lies on another or beside the picture, no word is broken, the least ratio is seen in a narrow window, a busy machine and a curve
of one point are told, no script fails. Exit code 77, and a line that says so, where there is no browser.
Usage: report_page.py --command POOLJIT [--keep FOLDER]"""
import argparse
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LAYERS = """\
small\tmax_pool2d(float32[1,3,10,12], kernel_size=3, stride=1, padding=1)
a/layer/with/a/name/that/is/longer/than/any/window/has/room/for\tavg_pool2d(float32[1,16,8,8]:nhwc, kernel_size=2)
global\tadaptive_max_pool2d(float32[1,8,6,6], output_size=1)
uneven\tadaptive_max_pool2d(float32[1,8,7,7], output_size=3)
wrong\tmax_pool2d(float32[1,3,10,12], kernel_size=0)
"""
# The headings of the page, and whether there is anything to show under them.
HEADINGS = {
    "Summary": lambda data: len(data["summaries"]) > 0,
    "Ratio of each layer": lambda data: len(data["summaries"]) > 0,
    "Bytes moved, under the roof of the memory": lambda data: True,
    "How the cost grows": lambda data: len(data["families"]) > 0,
    "Compile time of each layer": lambda data: True,
    "All numbers": lambda data: True,
    "Left out": lambda data: len(data["absent"] + data["refused"]) + sum(len(layer["left_out"]) for layer in data["layers"]) > 0,
    "Machine, versions, command": lambda data: True,
}
FAMILY = "max_pool2d(float32[1,2,12,12], kernel_size=3, stride=1, padding=1)"
WIDTHS = (1280, 390)

# Runs behind the page's own script, in a body as wide as wanted: looks at what it drew, uses the table, and leaves what it saw in the document.
PROBE = r"""
document.body.style.maxWidth = "WIDTHpx";
dispatchEvent(new Event("resize"));
const seen = {state: document.body.dataset.state, error: document.body.dataset.error, width: document.body.clientWidth};
const count = (selector) => document.querySelectorAll(selector).length;
const column = (i) => [...document.querySelectorAll(`#rows tbody tr td:nth-child(${i})`)].map((cell) => cell.textContent);
const head = (text) => [...document.querySelectorAll("#rows th button")].find((button) => button.textContent === text);
seen.rows = count("#rows tbody tr");
seen.bars = count("#ratios .bar rect");
seen.points = count("#roofline path.mark");
seen.roof = document.querySelector("#roofline polyline").getAttribute("points").split(" ").length;
seen.families = [...document.querySelectorAll("#families svg")].map((svg) => svg.querySelectorAll("path.mark").length);
seen.compiled = count("#compile path.mark");
seen.summaries = count("#summary tbody tr");
seen.left_out = count("#left-out tbody tr");
seen.command = document.getElementById("command").textContent;
head("time, µs").click();
const time = [...document.querySelectorAll("#rows th button")].findIndex((button) => button.textContent === "time, µs") + 1;
seen.ascending = column(time).map(Number);
head("time, µs").click();
seen.descending = column(time).map(Number);
const numberOf = (text) => [...document.querySelectorAll("#rows th button")].findIndex((button) => button.textContent === text) + 1;
seen.heads = [...document.querySelectorAll("#rows th")].map((cell) => cell.textContent);
if (head("ratio")) head("ratio").click();
seen.ratios = head("ratio") ? column(numberOf("ratio")) : [];
head("layer").click();
seen.layers = column(1);
seen.sorted = [...document.querySelectorAll("#rows th")].map((cell) => cell.getAttribute("aria-sort")).filter((sort) => sort !== "none");
const filter = document.getElementById("filter");
filter.value = head("engine") ? "GLOBAL plain" : "GLOBAL adaptive";
filter.dispatchEvent(new Event("input"));
seen.filtered = column(1).map((layer, i) => head("engine") ? `${layer} ${column(2)[i]}` : layer);
filter.value = "";
filter.dispatchEvent(new Event("input"));
seen.empty_columns = seen.heads.filter((head, i) => column(i + 1).every((text) => text === ""));
const visible = (element) => element.getClientRects().length > 0;
seen.headings = [...document.querySelectorAll("h2")].filter(visible).map((heading) => heading.textContent);
seen.odd = [...document.querySelectorAll("h1, #headline, summary")].filter(visible).map((one) => one.textContent)
  .filter((text) => /\b1 (engines|layers|comparisons)|\b0 /.test(text));
seen.busy = visible(document.getElementById("busy")) ? document.getElementById("busy").textContent : "";
seen.alone = [...document.querySelectorAll("#families p")].filter((one) => one.textContent.startsWith("One point, no curve")).length;
const linesOf = (range) => new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
const brokenIn = (element) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), range = document.createRange(), broken = [];
  while (walker.nextNode())
    for (const word of walker.currentNode.data.matchAll(/[\w.]+/g)) {
      range.setStart(walker.currentNode, word.index);
      range.setEnd(walker.currentNode, word.index + word[0].length);
      if (linesOf(range) > 1) broken.push(word[0]);
    }
  return broken;
};
seen.broken = [...document.querySelectorAll("td, th, h1, h2, p, pre, summary")].filter(visible).flatMap(brokenIn);
const least = [...document.querySelectorAll("#summary th")].findIndex((head) => head.textContent === "least ratio") + 1;
seen.least = [...document.querySelectorAll(`#summary td:nth-child(${least})`)].filter(visible).map((cell) =>
  cell.getBoundingClientRect().right <= document.querySelector("#summary").parentElement.getBoundingClientRect().right + 1);
seen.sideways = [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth).length;
seen.clashes = [...document.querySelectorAll("svg")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text:not(.small)")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  const beside = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()])
    .filter(([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
    .map(([text]) => `'${text}' leaves the picture`);
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
  return beside.concat(texts.flatMap(([text, box], i) =>
    texts.slice(i + 1).filter(([, other]) => meet(box, other)).map(([other]) => `'${text}' lies on '${other}'`)));
});
const edge = document.body.getBoundingClientRect().right;
const beyond = [...document.querySelectorAll("body *")]
  .filter((one) => visible(one) && one.getBoundingClientRect().right > edge + 1 && !one.parentElement.closest(".scroll, .chart"))
  .map((one) => `${one.tagName} ${one.id} ${one.textContent.slice(0, 200)}`);
seen.too_wide = document.body.scrollWidth <= document.body.clientWidth ? [] : ["the body", ...beyond];
document.body.append(Object.assign(document.createElement("pre"), {id: "seen", textContent: JSON.stringify(seen)}));
"""


# Shows each page in a frame of its own, so that the browser starts once.
FRAMES = """<!doctype html><body>{frames}<script>
addEventListener("load", () => document.body.append(Object.assign(document.createElement("pre"), {{id: "all", textContent:
  JSON.stringify([...document.querySelectorAll("iframe")].map((frame) => frame.contentDocument.getElementById("seen")?.textContent ?? ""))}})));
</script></body>"""


def show(browser, folder, address):
    """What the browser makes of a page. Now and then it never ends on a page that it shows in seconds: then it is
    started again, and only a page on which it hangs each time fails."""
    for attempt in range(3):
        try:
            return subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu",
                                   f"--user-data-dir={folder}/profile{attempt}", "--window-size=1500,1000", "--dump-dom",
                                   address], capture_output=True, text=True, timeout=100).stdout
        except subprocess.TimeoutExpired:
            print(f"the browser hangs, for the {attempt + 1}. time", file=sys.stderr)
    raise TimeoutError("the browser hangs on the page")


def look(browser, folder, views):
    """What the probe saw of each (page, width of its body); nothing where it did not come to its end."""
    frames = ""
    for page, width in views:
        probed = page.replace("</body>", f"<script>{PROBE.replace('WIDTH', str(width))}</script></body>")
        frames += f'<iframe style="width: 1400px; height: 1000px" srcdoc="{html.escape(probed)}"></iframe>'
    (folder / "frames.html").write_text(FRAMES.format(frames=frames))
    shown = show(browser, folder, (folder / "frames.html").as_uri())
    found = re.search(r'<pre id="all">(.*?)</pre>', shown, re.DOTALL)
    texts = json.loads(html.unescape(found[1])) if found else [""] * len(views)
    return [json.loads(text) if text else {} for text in texts]


def expectations(data, seen, width):
    """(what, seen, wanted) of each number on the page."""
    engines = [(layer, engine) for layer in data["layers"] for engine in layer["engines"]]
    times = [engine["call"]["median_seconds"] * 1e6 for _, engine in engines]
    shown = sorted(float(f"{time:.4g}") for time in times)
    left_out = len(data["absent"]) + len(data["refused"]) + sum(len(layer["left_out"]) for layer in data["layers"])
    ratios = [ratio for ratio in seen["ratios"] if ratio]
    yield "state", seen["state"], "drawn"
    yield "width", seen["width"], width
    yield "error", seen.get("error"), None
    yield "rows", seen["rows"], len(engines)
    yield "bars", seen["bars"], sum("ratio" in engine for _, engine in engines)
    yield "points", seen["points"], len(engines)
    yield "points of the roof", seen["roof"], len(data["roofline"])
    yield "points of families", seen["families"], [
        sum(len(member["engines"]) for member in family["members"]) for family in data["families"] if len(family["members"]) > 1]
    yield "families of one point", seen["alone"], sum(len(family["members"]) == 1 for family in data["families"])
    yield "banner", bool(seen["busy"]), bool(data["disturbances"])
    yield "told in the banner", [one for one in data["disturbances"] if one[1:] not in seen["busy"]], []
    yield "broken words", seen["broken"], []
    yield "hidden least ratios", seen["least"].count(False), 0
    yield "compile times", seen["compiled"], len(data["layers"])
    yield "summaries", seen["summaries"], len(data["engines"])
    yield "left out", seen["left_out"], left_out
    yield "command", seen["command"], data["command"]
    yield "ascending times", seen["ascending"], shown
    yield "descending times", seen["descending"], shown[::-1]
    missing = len(engines) - len(ratios) if ratios else 0
    yield "ratios, of which the missing come last", seen["ratios"], sorted(ratios, key=float) + [""] * missing
    yield "sorted layers", seen["layers"], sorted(seen["layers"])
    yield "marked heads", seen["sorted"], ["ascending"]
    alone = len(data["engines"]) == 1
    yield "filtered rows", seen["filtered"], ["global"] if alone else ["global plain"]
    yield "empty columns", seen["empty_columns"], []
    yield "odd texts", seen["odd"], []
    yield "percentiles", [head for head in seen["heads"] if head.startswith("p")], ["p10, µs", "p90, µs", "p99, µs"]
    yield "headings", seen["headings"], [heading for heading, is_there in HEADINGS.items() if is_there(data)]
    if width >= 1280:
        yield "tables that scroll sideways", seen["sideways"], 0
    yield "texts that clash", seen["clashes"], []
    yield "wider than the window", seen["too_wide"], []


def differences(data, seen, width):
    if not seen:
        return ["the page's script did not come to its end"]
    return [f"{what}: {found}, not {wanted}" for what, found, wanted in expectations(data, seen, width) if found != wanted]


def measure(command, folder, layers=LAYERS, peers="plain", family=FAMILY):
    (folder / "layers.txt").write_text(layers)
    subprocess.run([command, "bench", "--file", folder / "layers.txt", "--peers", peers, "--threads", "1", "--seconds",
                    "0.001", "--family", family, "--report", folder / "page.html", "--json-out", folder / "data.json"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (folder / "page.html").read_text(), json.loads((folder / "data.json").read_text())


def with_data(page, data):
    """The page of other data."""
    begin = page.index('id="data">') + len('id="data">')
    return page[:begin] + json.dumps(data).replace("<", "\\u003c") + page[page.index("</script>", begin):]


def others(data):
    """A quiet machine with one processor, and a busy one."""
    threads = [{**family, "members": family["members"][:1] if family["name"] == "threads" else family["members"]} for family in data["families"]]
    yield {**data, "disturbances": [], "families": threads}
    yield {**data, "disturbances": ["the load of the minute before measuring was 9.50 on 2 processors", "pooljit's times spread"]}


def check(browser, command, folder):
    page, data = measure(command, folder)
    bare_page, bare = measure(command, folder, LAYERS[:LAYERS.index("wrong")], "none", "none")
    narrow = "td { overflow-wrap: anywhere; max-width: 40px; } td.name {"
    # What is shown, of which data, how wide, and whether the page is to be right: the test itself can fail.
    views = [("other data", with_data(page, other), other, WIDTHS[1], True) for other in others(data)]
    views += [(f"{width} wide", page, data, width, True) for width in WIDTHS]
    views += [("alone", bare_page, bare, WIDTHS[0], True),
              ("a broken script", page.replace("drawCharts();\nlet", "drawNothing();\nlet"), data, WIDTHS[0], False),
              ("a missing layer", page, {**data, "layers": data["layers"][1:]}, WIDTHS[0], False),
              ("broken words", page.replace("td.name {", narrow), data, WIDTHS[0], False)]
    found = []
    for (name, _, wanted, width, is_right), seen in zip(views, look(browser, folder, [(view[1], view[3]) for view in views])):
        wrong = differences(wanted, seen, width)
        found += [f"{name}: {line}" for line in wrong] if is_right else [] if wrong else [f"{name}: not noticed"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", required=True)
    parser.add_argument("--keep", help="leave page and data in this folder")
    arguments = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        print("SKIPPED: no chromium on this machine (Debian: chromium)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        found = check(browser, arguments.command, pathlib.Path(folder))
        if arguments.keep:
            shutil.copytree(folder, arguments.keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("profile"))
    print("\n".join(found) if found else f"the page is right in windows {' and '.join(map(str, WIDTHS))} wide")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
