#include "report/page_style.h"

#include <fmt/format.h>

#include "report/html.h"

namespace fwl {

const std::string_view chart_style = R"(
:root {
  color-scheme: light dark;
  --paper: #fdfdfb; --ink: #1c1e21; --soft: #5c6168; --hair: #dcdcd6; --panel: #f4f4ef;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b0528a; --c4: #b78103; --c5: #3a9bd6;
  --gain: 0 102 190; --loss: 222 108 0;
  --mono: ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14161a; --ink: #e4e4df; --soft: #9fa4ab; --hair: #33373d; --panel: #1d2025;
    --c0: #58aee8; --c1: #f28a45; --c2: #35c79b; --c3: #dd8fbd; --c4: #e6b43c; --c5: #8fd0f7;
    --gain: 50 140 240; --loss: 226 112 10;
  }
}
.grid { stroke: var(--hair); stroke-width: 1; }
.rule { stroke: var(--soft); stroke-width: 1; }
.tick, .axis { fill: var(--soft); text-anchor: middle; }
.axis { fill: var(--ink); }
.end { text-anchor: end; }
path { fill: none; stroke: currentColor; stroke-width: 1.7; stroke-linejoin: round; }
path.faint { stroke-width: 1; opacity: 0.28; }
path.dashed { stroke-dasharray: 4 3; }
circle { fill: var(--paper); stroke: currentColor; stroke-width: 1.7; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); }
.c3 { color: var(--c3); } .c4 { color: var(--c4); } .c5 { color: var(--c5); }
rect.gain { fill: rgb(var(--gain) / 0.75); }
rect.loss { fill: rgb(var(--loss) / 0.85); }
rect.pale { opacity: 0.4; }
.whisker { stroke: var(--ink); stroke-width: 1.2; }
)";

namespace {

const std::string_view page_style = R"(
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1.0625rem/1.55 Charter, "Bitstream Charter", "Iowan Old Style", Georgia, "DejaVu Serif", serif;
  -webkit-text-size-adjust: 100%;
}
main { max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.25rem 3rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 1.5rem; font-weight: 600; overflow-wrap: anywhere; }
h2 {
  font-size: 1.3rem; margin: 2.6rem 0 0.7rem; font-weight: 600; border-top: 1px solid var(--hair);
  padding-top: 1.1rem;
}
h1 + section h2 { margin-top: 0; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 0.4rem; overflow-wrap: anywhere; }
p { max-width: 46rem; margin: 0.4rem 0 1rem; }
.lede { font-size: 1.2rem; line-height: 1.45; }
small { font-size: 0.82em; color: var(--soft); font-weight: normal; }
.scroll { overflow-x: auto; margin-bottom: 0.6rem; }
table {
  border-collapse: collapse; width: 100%; border-bottom: 1.5px solid var(--ink);
  font-size: 0.92rem; font-variant-numeric: tabular-nums lining-nums;
}
figcaption { font-size: 0.88rem; line-height: 1.45; color: var(--soft); max-width: 54rem; }
figcaption b { color: var(--ink); }
thead { border-top: 1.5px solid var(--ink); border-bottom: 1px solid var(--ink); }
th, td {
  padding: 0.32rem 0.6rem; text-align: right; white-space: nowrap; font-weight: normal;
  vertical-align: baseline;
}
th:first-child { text-align: left; padding-left: 0; position: sticky; left: 0; background: var(--paper); }
td:last-child, th:last-child { padding-right: 0; }
thead th { font-size: 0.85rem; color: var(--soft); }
tbody + tbody { border-top: 1px solid var(--hair); }
.group th { font-style: italic; padding-top: 0.6rem; }
.group div { overflow-wrap: anywhere; white-space: normal; }
.better { color: rgb(var(--gain)); }
.worse { color: rgb(var(--loss)); }
.texts td, .texts th { text-align: left; }
.extremes th:first-child { text-align: right; }
.extremes td, .extremes th { font-size: 0.86rem; }
.extremes .context { text-align: left; width: 99%; }
.extremes td.context {
  font-family: var(--mono); font-size: 0.8rem; white-space: pre-wrap; overflow-wrap: anywhere;
  min-width: 11rem; color: var(--soft);
}
mark { background: rgb(var(--gain) / 0.3); color: var(--ink); border-radius: 2px; padding: 0 1px; }
.losses mark { background: rgb(var(--loss) / 0.4); }
.figures {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.2rem 2.2rem;
  align-items: start;
}
figure { margin: 0.6rem 0 1rem; min-width: 0; break-inside: avoid; }
figure > svg { width: 100%; height: auto; max-width: 36rem; display: block; font: 12px/1 system-ui, sans-serif; }
figure.wide > svg { max-width: none; }
.legend {
  display: flex; flex-wrap: wrap; gap: 0.1rem 1.1rem; font: 0.82rem/1.5 system-ui, sans-serif;
  margin: 0.1rem 0 0.3rem; overflow-wrap: anywhere;
}
.key { width: 26px; height: 8px; margin-right: 0.4rem; vertical-align: middle; }
code, pre, .passage { font-family: var(--mono); font-size: 0.84rem; }
code { overflow-wrap: anywhere; }
.passage {
  white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.75; background: var(--panel);
  padding: 1rem 1.1rem; border-radius: 4px; margin-bottom: 0.6rem;
}
.passage span { border-radius: 2px; }
.passage span:hover { outline: 1.5px solid var(--ink); }
.scale {
  display: flex; align-items: center; font: 0.82rem system-ui, sans-serif; color: var(--soft);
  flex-wrap: wrap; min-height: 1.6rem; max-width: none;
}
.scale i { width: 1.05rem; height: 0.9rem; }
.scale span { margin: 0 0.5rem; }
.scale span:first-child { margin-left: 0; }
.scale output { margin-left: auto; color: var(--ink); font-variant-numeric: tabular-nums; }
.g1 { background: rgb(var(--gain) / 0.1); }
.g2 { background: rgb(var(--gain) / 0.2); }
.g3 { background: rgb(var(--gain) / 0.3); }
.g4 { background: rgb(var(--gain) / 0.4); }
.g5 { background: rgb(var(--gain) / 0.5); }
.g6 { background: rgb(var(--gain) / 0.6); }
.l1 { background: rgb(var(--loss) / 0.1); }
.l2 { background: rgb(var(--loss) / 0.2); }
.l3 { background: rgb(var(--loss) / 0.3); }
.l4 { background: rgb(var(--loss) / 0.4); }
.l5 { background: rgb(var(--loss) / 0.5); }
.l6 { background: rgb(var(--loss) / 0.6); }
dl {
  display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1.2rem; font-size: 0.92rem;
  margin: 0.3rem 0 0.8rem;
}
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
pre {
  background: var(--panel); padding: 0.7rem 0.9rem; border-radius: 4px; margin: 0.4rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere;
}
pre.settings { columns: 17rem; column-gap: 2rem; }
summary { cursor: pointer; font-size: 0.92rem; }
footer { margin-top: 3rem; font-size: 0.82rem; color: var(--soft); }
@media (max-width: 40rem) {
  body { font-size: 1rem; }
  main { padding: 1.4rem 1rem 2rem; }
  h1 { font-size: 1.6rem; }
  .lede { font-size: 1.08rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 0.4rem; }
}
@media print {
  :root {
    color-scheme: light; --paper: #fff; --ink: #000; --soft: #444; --hair: #ccc; --panel: #f6f6f6;
    --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b0528a; --c4: #b78103; --c5: #3a9bd6;
    --gain: 0 102 190; --loss: 222 108 0;
  }
  @page { margin: 16mm 14mm; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  html { font-size: 12px; }
  main { max-width: none; padding: 0; }
  .scroll { overflow: visible; }
  table { font-size: 7.4pt; }
  th, td, thead th, .extremes td, .extremes th { padding: 2pt 4pt; font-size: 7.4pt; }
  th:first-child { position: static; }
  .extremes td.context { font-size: 6.6pt; }
  .figures { grid-template-columns: 1fr 1fr; gap: 0.6rem 1.6rem; }
  h2, h3 { break-after: avoid; }
  tr { break-inside: avoid; }
  details::details-content { content-visibility: visible; display: block; }
}
)";

// Shows a token's tooltip on devices without a mouse.
const std::string_view page_script = R"(
const output = document.querySelector('.scale output');
const show = event => {
  const token = event.target.closest('.passage span');
  if (token) output.textContent = token.title;
};
if (output) for (const kind of ['click', 'pointerover']) document.addEventListener(kind, show);
)";

}  // namespace

std::string html_page(std::string_view title, std::string_view sections) {
  const auto shown_title = escape_html(title);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n"
      "<style>{}{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n{}<footer>fwl {}</footer>\n</main>\n"
      "<script>{}</script>\n</body>\n</html>\n",
      shown_title, chart_style, page_style, shown_title, sections, FWL_VERSION, page_script);
}

}  // namespace fwl
