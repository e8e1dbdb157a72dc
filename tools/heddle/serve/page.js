"use strict";
/* The live page of heddle serve: asks for /api/v1/snapshot at the pace at which there are new ones. */

const KEPT_MS = 120000;
const PATIENCE_MS = 5000;
const byId = (id) => document.getElementById(id);
const histories = new Map(); /* name -> [[time_ms, value], ...] */
let last = null, isPaused = false, timer = 0, failures = 0;

/* ---- texts */

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let u = 0;
  for (; n >= 1024 && u < units.length - 1; u++) n /= 1024;
  return `${n >= 100 || u === 0 ? n.toFixed(0) : n.toFixed(1)} ${units[u]}`;
}
function number(n) {
  if (n === 0) return "0";
  if (n >= 1e6) return n.toExponential(2);
  return n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n >= 0.01 ? n.toFixed(2) : n.toPrecision(2);
}
function seconds(s) {
  return s >= 60 ? `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s` : `${s.toFixed(1)} s`;
}
const triple = (t) => t.join(" × ");

/* ---- elements; text of programs only ever becomes text */

function element(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {}))
    if (value !== null && value !== undefined) e.setAttribute(key, value);
  e.append(...children.filter((c) => c !== null));
  return e;
}
/* CSP allows no style attributes in markup; properties set by script are no such thing. */
function bar(percent, label, isOver) {
  const inner = element("i");
  inner.style.width = `${Math.max(0, Math.min(100, percent))}%`;
  return element("span", { class: isOver ? "bar over" : "bar", role: "img", "aria-label": `${label} ${percent.toFixed(0)} %` }, inner);
}
function meter(name, percent, text, isOver) {
  return element("div", { class: isOver ? "meter over" : "meter" }, element("span", { class: "label" }, name),
    bar(percent, name, isOver), element("span", { class: "value" }, text));
}
function keep(name, time, value) {
  const list = histories.get(name) || [];
  if (!list.length || list[list.length - 1][0] < time) list.push([time, value]);
  while (list.length && list[0][0] < time - KEPT_MS) list.shift();
  histories.set(name, list);
  return list;
}
function chart(list, max, label) {
  const NS = "http://www.w3.org/2000/svg", svg = document.createElementNS(NS, "svg");
  const end = list.length ? list[list.length - 1][0] : 0;
  const line = document.createElementNS(NS, "polyline");
  line.setAttribute("points", list.map(([t, v]) =>
    `${(100 * (1 - (end - t) / KEPT_MS)).toFixed(2)},${(29 - 28 * Math.min(1, max > 0 ? v / max : 0)).toFixed(2)}`).join(" "));
  svg.setAttribute("viewBox", "0 0 100 30");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  svg.append(line);
  return svg;
}
function cell(content, properties) {
  return element("td", properties, content);
}
/* What is too much is bold, red, and says so to those who do not see it. */
function limited(text, isOver, properties) {
  const td = element("td", { ...properties, class: `${(properties || {}).class || ""}${isOver ? " over" : ""}` }, text);
  if (isOver) td.setAttribute("aria-label", `${text}, too much`);
  return td;
}
function fill(name, rows) {
  const table = byId(`${name}-table`);
  table.tBodies[0].replaceChildren(...rows);
  table.hidden = rows.length === 0;
  byId(`${name}-none`).hidden = rows.length > 0;
}

/* ---- parts */

function deviceCard(d, s, alarms) {
  const limits = s.thresholds, percent = d.memory_total_B ? 100 * d.memory_used_B / d.memory_total_B : 0;
  const overUse = d.utilization_percent > limits.utilization_percent, overMemory = percent > limits.memory_percent;
  const overHeat = d.temperature_C !== null && d.temperature_C > limits.temperature_C;
  const list = keep(`device ${d.index}`, s.time_ms, d.utilization_percent || 0);
  const kernels = (s.kernels || []).filter((k) => k.device === d.index && k.occupancy !== null);
  const occupancy = Math.min(1, kernels.reduce((sum, k) => sum + k.occupancy, 0));
  if (overUse) alarms.push(`device ${d.index} is ${d.utilization_percent} % busy`);
  if (overMemory) alarms.push(`device ${d.index} has ${percent.toFixed(0)} % of its memory in use`);
  if (overHeat) alarms.push(`device ${d.index} has ${d.temperature_C} °C`);
  const facts = [["Copied to the device", `${bytes(d.to_device_Bps)}/s`], ["Copied to the host", `${bytes(d.to_host_Bps)}/s`], ["Kernels launched", d.launches.toLocaleString("en")]];
  if (d.clock_MHz !== null) facts.push(["Clock", `${d.clock_MHz} MHz`]);
  if (d.temperature_C !== null) facts.push(["Temperature", `${d.temperature_C} °C`, overHeat]);
  if (d.power_W !== null) facts.push(["Power", `${d.power_W.toFixed(1)} W`]);
  if (d.xid) facts.push(["Last error (Xid)", String(d.xid), true]);
  const dl = element("dl");
  for (const [what, text, isOver] of facts)
    dl.append(element("dt", {}, what), element("dd", { class: isOver ? "over" : null }, text));
  return element("article", { class: "card", "aria-label": `Device ${d.index}` },
    element("h3", {}, `${d.index}: ${d.name}`),
    meter("Utilisation", d.utilization_percent || 0, `${d.utilization_percent || 0} %`, overUse),
    meter("Occupancy", 100 * occupancy, s.kernels === null ? "–" : `${(100 * occupancy).toFixed(0)} %`, false),
    meter("Copies", d.copy_percent || 0, `${d.copy_percent || 0} %`, false),
    meter("Memory", percent, `${bytes(d.memory_used_B)} of ${bytes(d.memory_total_B)}`, overMemory),
    chart(list, 100, `Utilisation in the last two minutes, now ${d.utilization_percent || 0} %`), dl);
}

function requestRow(r, s, alarms) {
  const name = r.domain ? `${r.name} @ ${r.domain}` : r.name, times = r.last_minute_ms || r.all_ms;
  const isOld = !r.last_minute_ms, overTime = !isOld && r.last_minute_ms.p99 > s.thresholds.p99_ms;
  const overRate = r.requests_per_s > s.thresholds.requests_per_s;
  const list = keep(`request ${r.source} ${r.program} ${name}`, s.time_ms, r.requests_per_s);
  const text = (v) => times === null ? "–" : isOld ? `(${number(v)})` : number(v);
  const of = (key, over) => limited(times === null ? "–" : text(times[key]), over, { class: isOld ? "n old" : "n" });
  if (overTime) alarms.push(`${name}: p99 ${number(r.last_minute_ms.p99)} ms`);
  if (overRate) alarms.push(`${name}: ${number(r.requests_per_s)} per second`);
  return element("tr", {}, cell(name, { class: "name" }), cell(r.source === "push" ? `${r.program} (pushed)` : r.program),
    limited(number(r.requests_per_s), overRate, { class: "n" }),
    cell(chart(list, Math.max(...list.map(([, v]) => v), 1e-9), `${name} per second in the last two minutes, now ${number(r.requests_per_s)}`)),
    of("p50", false), of("p90", false), of("p99", overTime), of("p999", false),
    cell(r.max_ms === null ? "–" : number(r.max_ms), { class: "n" }), cell(r.count.toLocaleString("en"), { class: "n" }));
}

function kernelRow(k, s, alarms) {
  const isOver = k.running_s > s.thresholds.kernel_s, begun = k.blocks ? 100 * k.begun / k.blocks : 0;
  if (isOver) alarms.push(`${k.kernel} of process ${k.pid} has been running for ${seconds(k.running_s)}`);
  return element("tr", {}, cell(k.kernel, { class: "name" }), cell(String(k.pid), { class: "n" }), cell(String(k.device), { class: "n" }),
    cell(triple(k.grid)), cell(triple(k.block)), limited(seconds(k.running_s), isOver, { class: "n" }),
    element("td", {}, bar(begun, "Blocks begun", false), `${k.begun} of ${k.blocks}`),
    k.occupancy === null ? cell("–") : element("td", {}, bar(100 * k.occupancy, "Occupancy", false), `${(100 * k.occupancy).toFixed(0)} %`));
}

function processRow(p, s) {
  const device = s.devices.find((d) => d.index === p.device), use = p.utilization_percent || 0, copies = p.copy_percent || 0;
  const percent = device && device.memory_total_B ? 100 * p.memory_B / device.memory_total_B : 0;
  return element("tr", {}, cell(String(p.pid), { class: "n" }), cell(p.program, { class: "name" }), cell(String(p.device), { class: "n" }),
    element("td", {}, bar(use, "Utilisation", false), `${use} %`), element("td", {}, bar(copies, "Copies", false), `${copies} %`),
    element("td", {}, bar(percent, "Memory", false), bytes(p.memory_B)));
}

function show(s) {
  const alarms = [];
  byId("host").textContent = s.host;
  byId("device-cards").replaceChildren(...s.devices.map((d) => deviceCard(d, s, alarms)));
  fill("requests", s.requests.map((r) => requestRow(r, s, alarms)));
  fill("kernels", (s.kernels || []).map((k) => kernelRow(k, s, alarms)));
  fill("processes", s.processes.map((p) => processRow(p, s)));
  const text = alarms.length ? `Too much: ${alarms.join("; ")}` : "";
  if (byId("alarms").textContent !== text) byId("alarms").textContent = text; /* said once */
  byId("alarms").hidden = !alarms.length;
  document.title = alarms.length ? `(${alarms.length}) heddle serve` : "heddle serve";
}

/* ---- asking */

function tell(text, isBad) {
  if (byId("state").textContent !== text) byId("state").textContent = text;
  byId("state").parentElement.classList.toggle("bad", isBad);
}

/* What was before the page was opened. Without it the curves begin now. */
async function recall() {
  try {
    const answer = await fetch("/api/v1/history", { signal: AbortSignal.timeout(PATIENCE_MS), cache: "no-store" });
    if (!answer.ok) return;
    const { history } = await answer.json();
    for (const d of history.devices) histories.set(`device ${d.index}`, d.utilization_percent);
    for (const r of history.requests)
      histories.set(`request ${r.source} ${r.program} ${r.domain ? `${r.name} @ ${r.domain}` : r.name}`, r.requests_per_s);
  } catch (error) { /* ask() says what is wrong */ }
}

async function ask() {
  clearTimeout(timer);
  let wait = last ? last.interval_ms : 1000;
  if (isPaused || document.hidden) return;
  try {
    const answer = await fetch("/api/v1/snapshot", { signal: AbortSignal.timeout(PATIENCE_MS), cache: "no-store" });
    if (answer.status === 401) return location.reload();
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const s = await answer.json();
    if (!last || s.snapshot !== last.snapshot || s.time_ms !== last.time_ms) show(s);
    last = s;
    failures = 0;
    tell("live", false);
  } catch (error) {
    failures++;
    wait = Math.min(30000, wait * 2 ** failures); /* many pages come back one after the other */
    tell(`no answer (${error.message}); asking again`, true);
  }
  timer = setTimeout(ask, wait * (0.9 + 0.2 * Math.random()));
}

byId("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  byId("pause").setAttribute("aria-pressed", String(isPaused));
  if (isPaused) tell("paused", false);
  else ask();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
recall().then(ask);
