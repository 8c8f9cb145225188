// Pieces of the page that know nothing of it: server-sent events of a response, and charts of a few lines.

// The JSON objects of a stream, in order. An error event ends it with an exception.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting += value;
    const parts = waiting.split("\n\n");
    waiting = parts.pop();
    for (const part of parts) {
      const data = part.replace(/^data: /, "");
      if (data === "[DONE]") return;
      const event = JSON.parse(data);
      if (event.error) throw new Error(event.error.message);
      yield event;
    }
  }
}

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// `lines`: class of each line -> its points [x, y]. The largest and smallest y are labelled.
export function drawLines(svg, lines, unit) {
  const { width, height } = svg.viewBox.baseVal;
  const all = Object.values(lines).flat();
  if (all.length === 0) return svg.replaceChildren();
  const [left, right] = [Math.min(...all.map(([x]) => x)), Math.max(...all.map(([x]) => x))];
  const [low, high] = [Math.min(...all.map(([, y]) => y)), Math.max(...all.map(([, y]) => y))];
  const place = ([x, y]) => [
    40 + (width - 44) * (right > left ? (x - left) / (right - left) : 0.5),
    height - 6 - (height - 24) * (high > low ? (y - low) / (high - low) : 0.5)];
  const path = (points) => points.length === 1
    ? `M${place(points[0]).join(" ")}h4`
    : "M" + points.map((point) => place(point).map((part) => part.toFixed(1)).join(" ")).join("L");
  svg.replaceChildren(
    element("path", { class: "axis", d: `M0 ${height - 1}H${width}` }),
    element("text", { x: 2, y: 11 }, `${high.toPrecision(3)} ${unit}`),
    ...(high > low ? [element("text", { x: 2, y: height - 6 }, low.toPrecision(3))] : []),
    ...Object.entries(lines).map(([name, points]) =>
      element("path", { class: name, d: path(points), "stroke-linecap": "round", "stroke-linejoin": "round" })));
}
