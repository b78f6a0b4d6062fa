// The page of a Granary node: polls /status.json once a second, keeps the last minutes in memory, and draws them. No library, no other host.
"use strict";

const kPeriodMs = 1000;
const kSamples = 180;
const kTimeoutMs = 4000;

const samples = []; // {at, cluster, nodes: Map(id -> node document)}
let token = sessionStorage.getItem("granary_token") || "";
let timer = 0;

const byId = (id) => document.getElementById(id);
const numberAt = (object, ...path) => {
  let value = object;
  for (const key of path) value = value === null || value === undefined ? undefined : value[key];
  return typeof value === "number" && isFinite(value) ? value : null;
};

// --- numbers as people read them ---

function count(value) {
  if (value === null) return "–";
  if (value >= 1e6) return (value / 1e6).toFixed(value >= 1e7 ? 1 : 2) + " M";
  if (value >= 1e4) return (value / 1e3).toFixed(value >= 1e5 ? 0 : 1) + " k";
  return value >= 100 || Number.isInteger(value) ? Math.round(value).toString() : value.toFixed(1);
}
function microseconds(value) {
  if (value === null || value === 0) return "–";
  if (value >= 1e6) return (value / 1e6).toFixed(2) + " s";
  if (value >= 1e3) return (value / 1e3).toFixed(value >= 1e4 ? 1 : 2) + " ms";
  return value.toFixed(value >= 10 ? 0 : 1) + " µs";
}
function seconds(value) {
  if (value === null) return "–";
  return value >= 100 ? Math.round(value) + " s" : value >= 1 ? value.toFixed(1) + " s" : Math.round(value * 1000) + " ms";
}
function bytes(value) {
  if (value === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit++; }
  return (unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)) + " " + units[unit];
}

// --- building elements; text is only ever set as text ---

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  for (const child of children) made.append(child);
  return made;
}
function drawn(name, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}

// --- charts ---

const nodeIds = () => [...new Set(samples.flatMap((sample) => [...sample.nodes.keys()]))].sort((a, b) => a - b);
const perNode = (...path) => () =>
  nodeIds().map((id) => ({ name: "node " + id, color: nodeIds().indexOf(id) % 8, of: (sample) => numberAt(sample.nodes.get(id), ...path) }));

const charts = [
  { title: "Throughput", unit: "commits/s by node", format: count, series: perNode("transactions", "commits_per_second") },
  { title: "Latency, p99", unit: "of a commit, by node", format: microseconds, series: perNode("transactions", "latency_us", "p99") },
  { title: "Aborts", unit: "attempts/s by node", format: count, series: perNode("transactions", "aborts_per_second") },
  { title: "E and D", unit: "how far durability is behind", format: seconds,
    series: () => [{ name: "D behind E", color: 1, of: (sample) => numberAt(sample.cluster, "durable_lag_seconds") }] },
  { title: "One-sided operations", unit: "operations/s by node", format: count, series: perNode("elsewhere", "one_sided", "per_second") },
  { title: "Who is up", unit: "each node over time", bands: true },
];

const kWidth = 380, kHeight = 170, kLeft = 52, kRight = 6, kTop = 8, kBottom = 18;

function niceTop(most) {
  if (!(most > 0)) return 1;
  const power = Math.pow(10, Math.floor(Math.log10(most)));
  for (const step of [1, 1.5, 2, 3, 4, 5, 7.5, 10]) if (step * power >= most) return step * power;
  return most;
}
const newest = () => samples[samples.length - 1].at;
/// The time that the charts show: as much as there is, at least half a minute, three minutes at most.
const span = () => Math.max(30000, Math.min(kSamples * kPeriodMs, newest() - samples[0].at));
const x = (at) => kWidth - kRight - ((newest() - at) / span()) * (kWidth - kLeft - kRight);

function timeAxis(svg) {
  const step = [10, 20, 30, 60].find((each) => span() / 1000 / each <= 4) || 60;
  for (let back = 0; back * 1000 <= span(); back += step) {
    const place = x(newest() - back * 1000);
    const anchor = back === 0 ? "end" : place < kLeft + 16 ? "start" : "middle";
    const label = back === 0 ? "now" : "−" + (back < 60 || back % 60 !== 0 ? back + " s" : back / 60 + " min");
    svg.append(drawn("text", { x: place, y: kHeight - 4, "text-anchor": anchor }, label));
  }
}

function drawLines(chart, svg) {
  const series = chart.series();
  let most = 0;
  for (const serie of series) for (const sample of samples) most = Math.max(most, serie.of(sample) || 0);
  const top = niceTop(most);
  const y = (value) => kTop + (1 - value / top) * (kHeight - kTop - kBottom);
  for (const share of [0, 0.5, 1]) {
    svg.append(drawn("line", { x1: kLeft, x2: kWidth - kRight, y1: y(share * top), y2: y(share * top), class: "grid" }));
    const label = share === 0 ? "0" : chart.format(share * top);
    svg.append(drawn("text", { x: kLeft - 6, y: y(share * top) + 4, "text-anchor": "end" }, label));
  }
  for (const serie of series) {
    let path = "", open = false;
    for (const sample of samples) {
      const value = serie.of(sample);
      if (value !== null) path += (open ? "L" : "M") + x(sample.at).toFixed(1) + " " + y(Math.min(value, top)).toFixed(1);
      open = value !== null;
    }
    svg.append(drawn("path", { d: path, class: "serie s" + serie.color }));
  }
  return series.map((serie) => ({ name: serie.name, color: serie.color, now: chart.format(serie.of(samples[samples.length - 1])) }));
}

function drawBands(svg) {
  const ids = nodeIds();
  const row = Math.min(26, (kHeight - kTop - kBottom) / Math.max(1, ids.length));
  ids.forEach((id, index) => {
    const top = kTop + index * row;
    svg.append(drawn("text", { x: kLeft - 6, y: top + row / 2 + 4, "text-anchor": "end" }, "node " + id));
    samples.forEach((sample, i) => {
      const from = i === 0 ? x(sample.at - kPeriodMs) : x(samples[i - 1].at);
      const color = { good: "var(--good)", warn: "var(--warn)", bad: "var(--bad)" }[stateOf(sample.nodes.get(id)).kind];
      svg.append(drawn("rect", { x: Math.max(kLeft, from), width: Math.max(0.5, x(sample.at) - Math.max(kLeft, from) + 0.3), y: top + 3,
                                 height: Math.max(2, row - 6), fill: color }));
    });
  });
  return [];
}

function drawCharts() {
  const place = byId("charts");
  charts.forEach((chart, index) => {
    const svg = drawn("svg", { viewBox: `0 0 ${kWidth} ${kHeight}`, role: "img", "aria-label": chart.title });
    const keys = chart.bands ? drawBands(svg) : drawLines(chart, svg);
    timeAxis(svg);
    const key = element("div", { class: "key" });
    for (const each of keys) key.append(element("span", {}, element("i", { class: "s" + each.color }), each.name + " " + each.now));
    const figure = element("figure", {}, element("figcaption", {}, chart.title, element("small", {}, chart.unit)), svg, key);
    if (place.children[index]) place.replaceChild(figure, place.children[index]); else place.append(figure);
  });
}

// --- words and tables ---

function stateOf(node) {
  if (!node) return { kind: "bad", text: "unknown" };
  if (node.ready) return { kind: "good", text: "serving" };
  if (node.member_state === "dead") return { kind: "bad", text: "dead" };
  if (node.member_state === "left") return { kind: "bad", text: "ended" };
  if (node.answers) return { kind: "warn", text: node.stage === "serving" ? "not ready" : node.stage };
  return node.member_state === "serving" ? { kind: "warn", text: "serving, silent" } : { kind: "bad", text: node.member_state || "silent" };
}

function fill(table, rows) {
  byId(table).tBodies[0].replaceChildren(...rows.map((cells) => {
    const row = element("tr");
    for (const cell of cells) row.append(cell instanceof Node ? cell : element("td", cell.right ? { class: "n" } : {}, cell.text));
    return row;
  }));
}
const left = (text) => ({ text: text === null || text === undefined || text === "" ? "–" : String(text) });
const right = (text) => ({ text, right: true });

function showNodes(status) {
  fill("nodes", status.nodes.map((node) => {
    const state = stateOf(node);
    const leads = status.cluster.leader === node.node ? " · leads" : "";
    return [
      left(node.node), element("td", {}, element("span", { class: "dot " + state.kind }), state.text + leads), left(node.generation),
      right(count(numberAt(node, "transactions", "commits_per_second"))), right(count(numberAt(node, "transactions", "aborts_per_second"))),
      right(microseconds(numberAt(node, "transactions", "latency_us", "p50"))), right(microseconds(numberAt(node, "transactions", "latency_us", "p99"))),
      right(node.memory ? bytes(numberAt(node, "memory", "reserved_bytes")) + " of " + bytes(numberAt(node, "memory", "limit_bytes")) : "–"),
      right(node.log ? bytes(numberAt(node, "log", "bytes_per_second")) : "–"),
      right(node.log ? Math.round(100 * numberAt(node, "log", "ring_fullest")) + " %" : "–"),
      right(count(numberAt(node, "elsewhere", "transactions_per_second"))), left(node.host),
    ];
  }));
}

function showRecoveries(status) {
  byId("recoveries_section").hidden = status.recoveries.length === 0;
  fill("recoveries", status.recoveries.map((each) => [
    left(each.node), left(each.generation), left(each.phase), left(each.claimed_by ? "node " + each.claimed_by : ""), right(seconds(each.age_seconds)),
    right(count(each.redone_transactions)), right(count(each.undone_transactions)), right(count(each.freed_records)),
    right(microseconds(each.settled_us)), left(each.failure),
  ]));
}

function showTiles(status) {
  const cluster = status.cluster;
  const tiles = [
    [cluster.nodes_ready + " of " + cluster.nodes, "nodes ready"],
    [count(cluster.commits_per_second), "commits/s"],
    [microseconds(numberAt(cluster, "worst_latency_us", "p50")), "p50, slowest node"],
    [microseconds(numberAt(cluster, "worst_latency_us", "p99")), "p99, slowest node"],
    [count(cluster.aborts_per_second), "aborts/s"],
    [seconds(cluster.durable_lag_seconds), "D behind E"],
  ];
  byId("tiles").replaceChildren(...tiles.map(([value, name]) => element("div", { class: "tile" }, element("b", {}, value), element("span", {}, name))));
}

function showState(text, kind) {
  byId("state").textContent = text;
  byId("state").className = "state " + kind;
}

function show(status) {
  const cluster = status.cluster;
  document.title = cluster.name + " – Granary";
  byId("cluster").textContent = cluster.name;
  const worst = status.messages.some((m) => m.severity === "error") ? "bad" : status.healthy ? "good" : "warn";
  showState(worst === "good" ? "healthy" : worst === "warn" ? "needs a look" : "something is wrong", worst);
  const facts = { E: cluster.epoch, D: cluster.durable_epoch || "no logs", configuration: cluster.configuration_version, membership: cluster.membership_number };
  byId("facts").replaceChildren(...Object.entries(facts).map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, String(value === undefined ? "–" : value)))));
  byId("asked").textContent = "as node " + status.asked_node + " sees it";
  byId("messages").replaceChildren(...status.messages.map((m) => element("li", { class: m.severity }, m.text)));
  showTiles(status);
  showNodes(status);
  showRecoveries(status);
  drawCharts();
}

// --- asking ---

function askForToken(error) {
  byId("login").hidden = false;
  byId("main").hidden = true;
  byId("login_error").textContent = error;
  showState("token needed", "unknown");
}

async function poll() {
  clearTimeout(timer);
  try {
    const answer = await fetch("status.json", {
      headers: token ? { Authorization: "Bearer " + token } : {}, cache: "no-store", signal: AbortSignal.timeout(kTimeoutMs),
    });
    if (answer.status === 401) return askForToken(token ? "That is not this node's token." : "");
    if (!answer.ok) throw new Error("HTTP status " + answer.status);
    const status = await answer.json();
    sessionStorage.setItem("granary_token", token);
    samples.push({ at: Date.now(), cluster: status.cluster, nodes: new Map(status.nodes.map((node) => [node.node, node])) });
    while (samples.length > kSamples + 1) samples.shift();
    byId("login").hidden = true;
    byId("main").hidden = false;
    show(status);
  } catch (error) {
    showState("this node does not answer", "bad");
  }
  timer = setTimeout(poll, kPeriodMs);
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value.trim();
  byId("token").value = "";
  poll();
});
poll();
