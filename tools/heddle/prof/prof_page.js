'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const element = id => document.getElementById(id);

function make(tag, properties, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/* ---- numbers as text */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2);
}

function scaled(value, step, units) {
  let unit = 0;
  while (Math.abs(value) >= step && unit + 1 < units.length) {
    value /= step;
    unit++;
  }
  return (unit ? digits(value) : whole.format(value)) + '\u00a0' + units[unit];
}

const timeText = ns => scaled(ns, 1000, ['ns', 'µs', 'ms', 's']);
const sizeText = bytes => scaled(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
const percent = (part, all) => all > 0 ? (100 * part / all).toFixed(1) + '\u00a0%' : '0.0\u00a0%';

/* Moments of the axis: as many digits as the range needs. */
function momentText(ns, step) {
  const units = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];
  const [name, size] = units[Math.max(0, units.findLastIndex(u => Math.abs(ns) >= u[1]))];
  const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / size) - 1e-9)));
  return (ns / size).toFixed(places) + ' ' + name;
}

/* ---- events: columns, one entry for each event of any group */

function decode(column, n) {
  const text = atob(column.base64), out = new Float64Array(n);
  let at = 0, last = 0;
  for (let i = 0; i < n; i++) {
    let value = 0, scale = 1, byte;
    do {
      byte = text.charCodeAt(at++);
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    value = value % 2 ? -(value + 1) / 2 : value / 2;
    last = column.difference ? last + value : value;
    out[i] = last;
  }
  return out;
}

const KINDS = ['nvtx', 'mark', 'api', 'osrt', 'compile', 'kernel', 'copy', 'fill'];
const KIND_WORDS = { nvtx: 'NVTX range', mark: 'NVTX mark', api: 'CUDA call', osrt: 'call of the system', compile: 'compilation',
  kernel: 'kernel', copy: 'copy', fill: 'fill' };
/* What stands on one set of lanes. */
const LANES = { nvtx: 0, mark: 0, api: 1, osrt: 2, compile: 3, kernel: 0, copy: 0, fill: 0 };
const LANE_WORDS = ['NVTX', 'CUDA', 'system', 'compile'];
const WORK = KINDS.indexOf('kernel'), API = KINDS.indexOf('api');
const total = KINDS.reduce((sum, kind) => sum + data.groups[kind].n, 0);
const E = { start: new Float64Array(total), end: new Float64Array(total), name: new Int32Array(total), kind: new Uint8Array(total),
  place: new Int32Array(total), correlation: new Float64Array(total), extra: new Float64Array(total) };
const offsets = [];

function load() {
  let at = 0;
  KINDS.forEach((kind, k) => {
    const group = data.groups[kind], n = group.n;
    offsets.push(at);
    const column = name => group[name] ? decode(group[name], n) : new Float64Array(n);
    const start = column('start'), duration = column('duration'), place = column(k >= WORK ? 'stream' : 'thread');
    const extra = column({ api: 'result', nvtx: 'style', mark: 'style', kernel: 'shape', copy: 'bytes', fill: 'bytes' }[kind] || '');
    E.start.set(start, at);
    E.name.set(column('name'), at);
    E.place.set(place, at);
    E.correlation.set(column('correlation'), at);
    E.extra.set(extra, at);
    E.kind.fill(k, at, at + n);
    for (let i = 0; i < n; i++)
      E.end[at + i] = start[i] + duration[i];
    at += n;
    data.groups[kind] = { n };
  });
  offsets.push(at);
}
load();

const start0 = data.start_ns, end0 = Math.max(data.end_ns, data.start_ns + 1), wall = data.end_ns - data.start_ns;
const threads = data.threads.map(text => {
  const id = BigInt(text);
  return { id: text, process: Number(id >> 24n & 0xffffffn), thread: Number(id & 0xffffffn) };
});
const streams = data.streams.map(text => {
  const [process, device, context, stream] = text.split(',');
  return { process: Number(BigInt(process) >> 24n & 0xffffffn), device: Number(device), context: Number(context), stream: Number(stream) };
});
const processNames = new Map(data.processes), threadNames = new Map(data.thread_names.map(([id, name]) => [String(id), name]));
const gpuNames = new Map(data.gpus);
const isWork = id => E.kind[id] >= WORK;
const processOf = id => isWork(id) ? streams[E.place[id]].process : threads[E.place[id]].process;

/* ---- lanes: events that do not overlap, in the order of time */

const FAN = 16;

class Lane {
  constructor(ids) {
    this.ids = ids;
    this.busy = new Float64Array(ids.length + 1);
    for (let i = 0; i < ids.length; i++)
      this.busy[i + 1] = this.busy[i] + E.end[ids[i]] - E.start[ids[i]];
    this.levels = []; /* the longest of 16, of 256 ... : positions */
    for (let n = ids.length, below = null; n > FAN; n = Math.ceil(n / FAN)) {
      const level = new Uint32Array(Math.ceil(n / FAN));
      for (let i = 0; i < level.length; i++) {
        let best = below ? below[i * FAN] : i * FAN;
        for (let j = i * FAN + 1; j < Math.min(n, i * FAN + FAN); j++)
          best = this.longer(best, below ? below[j] : j);
        level[i] = best;
      }
      this.levels.push(below = level);
    }
  }
  duration(i) {
    return this.busy[i + 1] - this.busy[i];
  }
  longer(i, j) {
    return this.duration(j) > this.duration(i) ? j : i;
  }
  /* Position of the longest in [i, j), which is not empty. */
  longest(i, j) {
    let best = i;
    while (i < j) {
      let size = 1, level = -1;
      while (level + 1 < this.levels.length && i % (size * FAN) === 0 && i + size * FAN <= j) {
        size *= FAN;
        level++;
      }
      best = this.longer(best, level < 0 ? i : this.levels[level][i / size]);
      i += size;
    }
    return best;
  }
  /* The first position from `low` on whose event ends, or starts, behind `time`. */
  find(times, time, low = 0) {
    let step = 1, high = low;
    while (high < this.ids.length && times[this.ids[high]] <= time) {
      low = high + 1;
      high += step;
      step *= 2;
    }
    high = Math.min(high, this.ids.length);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[this.ids[middle]] <= time)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
}

const LANES_MAX = 24;
let tooDeep = 0;

/* Spreads events, in the order of their starts, over lanes: what lies in, or crosses, another goes below it. */
function spread(ids) {
  const ends = [], lanes = [];
  for (const id of ids) {
    let lane = 0;
    while (lane < ends.length && ends[lane] > E.start[id])
      lane++;
    if (lane === LANES_MAX) {
      tooDeep++;
      continue;
    }
    if (lane === ends.length) {
      ends.push(0);
      lanes.push([]);
    }
    ends[lane] = E.end[id];
    lanes[lane].push(id);
  }
  return lanes.map(list => new Lane(Uint32Array.from(list)));
}

/* Events by place (a thread's kind of calls, a stream) in the order of time. */
function byPlace(kinds, key) {
  const places = new Map();
  for (const kind of kinds)
    for (let id = offsets[kind]; id < offsets[kind + 1]; id++) {
      const place = key(id);
      let list = places.get(place);
      if (!list)
        places.set(place, list = []);
      list.push(id);
    }
  if (kinds.length > 1)
    for (const list of places.values())
      list.sort((a, b) => E.start[a] - E.start[b] || E.end[b] - E.end[a]);
  return places;
}

/* Where at least one of the events is: disjoint intervals with the sum of their lengths before each. */
class Union {
  constructor(ids) {
    const start = [], end = [];
    let last = -Infinity;
    for (const id of ids) {
      if (E.start[id] > last) {
        start.push(E.start[id]);
        end.push(last = E.end[id]);
      } else if (E.end[id] > last) {
        end[end.length - 1] = last = E.end[id];
      }
    }
    this.start = Float64Array.from(start);
    this.end = Float64Array.from(end);
    this.sum = new Float64Array(start.length + 1);
    for (let i = 0; i < start.length; i++)
      this.sum[i + 1] = this.sum[i] + end[i] - start[i];
  }
  before(time) {
    let low = 0, high = this.start.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle] < time)
        low = middle + 1;
      else
        high = middle;
    }
    return low ? this.sum[low - 1] + Math.min(time, this.end[low - 1]) - this.start[low - 1] : 0;
  }
}

/* Bytes of a device over time. */
function memoryCurves() {
  const group = data.groups.memory, curves = new Map();
  const start = decode(group.start, group.n), device = decode(group.device, group.n), bytes = decode(group.bytes, group.n);
  for (let i = 0; i < group.n; i++) {
    let curve = curves.get(device[i]);
    if (!curve)
      curves.set(device[i], curve = { time: [], bytes: [], peak: 0 });
    const now = Math.max(0, (curve.bytes.at(-1) || 0) + bytes[i]);
    curve.time.push(start[i]);
    curve.bytes.push(now);
    curve.peak = Math.max(curve.peak, now);
  }
  return curves;
}

/* ---- rows */

const rows = []; /* { type, label, level, height, top, lane | union | curve } */
const ROW = 19, TALL = 34;

function addRow(row) {
  rows.push(Object.assign({ height: ROW, level: 1 }, row));
}

function addLanes(ids, label, level) {
  spread(ids).forEach((lane, depth) => addRow({ type: 'lane', lane, label: depth ? '' : label, name: label, level }));
}

function addThreads() {
  const kinds = KINDS.map((_, k) => k).filter(k => k < WORK);
  const lanes = byPlace(kinds, id => E.place[id] * 4 + LANES[KINDS[E.kind[id]]]);
  const order = threads.map((_, i) => i).sort((a, b) => threads[a].process - threads[b].process || threads[a].thread - threads[b].thread);
  let process = null;
  for (const i of order) {
    const thread = threads[i];
    if (process !== thread.process) {
      process = thread.process;
      addRow({ type: 'head', label: `${processNames.get(process) ?? 'process'} (${process})`, level: 0 });
    }
    const name = threadNames.get(thread.id);
    const title = name ? `${name} ${thread.thread}` : thread.thread === process ? `main ${thread.thread}` : `thread ${thread.thread}`;
    addRow({ type: 'head', label: title, level: 1 });
    for (let kind = 0; kind < LANE_WORDS.length; kind++)
      if (lanes.has(i * 4 + kind))
        addLanes(lanes.get(i * 4 + kind), LANE_WORDS[kind], 2);
  }
}

function addDevices() {
  const work = [WORK, WORK + 1, WORK + 2], curves = memoryCurves();
  const all = byPlace(work, id => streams[E.place[id]].device), lanes = byPlace(work, id => E.place[id]);
  for (const device of [...new Set([...all.keys(), ...curves.keys()])].sort((a, b) => a - b)) {
    const ids = all.get(device) || [];
    addRow({ type: 'head', label: deviceText(device), level: 0 });
    addRow({ type: 'use', label: 'busy', union: new Union(ids), height: TALL });
    if (curves.has(device))
      addRow({ type: 'memory', label: 'memory', curve: curves.get(device), height: TALL });
    const order = streams.map((_, i) => i).filter(i => streams[i].device === device && lanes.has(i));
    order.sort((a, b) => streams[a].process - streams[b].process || streams[a].context - streams[b].context || streams[a].stream - streams[b].stream);
    let context = '';
    for (const i of order) {
      const s = streams[i], key = `${s.process}/${s.context}`;
      if (key !== context)
        addRow({ type: 'head', label: `context ${s.context}, process ${s.process}`, level: 1 });
      context = key;
      addLanes(lanes.get(i), `stream ${s.stream}`, 2);
    }
  }
}

const deviceText = device => `GPU ${device}${gpuNames.has(device) ? ': ' + gpuNames.get(device) : ''}`;

/* The two that are slowest to make: sorts of all events, once. */
addDevices();
addThreads();
let height = 0;
for (const row of rows) {
  row.top = height;
  height += row.height;
}
const laneRows = rows.filter(row => row.type === 'lane');
/* Of the lane that has the event. */
function rowOf(id) {
  return laneRows.find(row => {
    const at = row.lane.find(E.start, E.start[id] - 1);
    for (let i = at; i < row.lane.ids.length && E.start[row.lane.ids[i]] <= E.start[id]; i++)
      if (row.lane.ids[i] === id)
        return true;
    return false;
  });
}

/* ---- the view */

const view = element('view'), canvas = element('canvas'), paint = canvas.getContext('2d'), tip = element('tip');
const AXIS = 22, PIXEL = 2;
let from = start0, to = end0, selected = -1, hovered = -1, focusRow = null, related = [], matching = null, width = 0, tall = 0, gutter = 170, queued = false;
let colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  colours = { events: [] };
  for (const name of ['back', 'text', 'quiet', 'line', 'soft', 'select', 'arrow', 'event-text', 'event-saturation', 'event-light', 'c0', 'c1', 'c2'])
    colours[name] = style.getPropertyValue('--' + name).trim();
}

function colourOf(name) {
  return colours.events[name] ??= `hsl(${(name * 137 + 205) % 360} ${colours['event-saturation']} ${colours['event-light']})`;
}

function requestDraw() {
  if (!queued)
    requestAnimationFrame(draw);
  queued = true;
}

function setRange(first, last) {
  const least = 10, most = end0 - start0;
  const length = Math.min(most, Math.max(least, last - first));
  const middle = (first + last) / 2;
  from = Math.min(Math.max(start0, middle - length / 2), end0 - length);
  to = from + length;
  view.dataset.from = String(from);
  view.dataset.to = String(to);
  element('range').textContent = `Shown: ${momentText(from - start0, length / 1000)} to ${momentText(to - start0, length / 1000)}, that is ${timeText(length)} of ${timeText(wall)}`;
  if (element('visible').checked)
    scheduleTables();
  requestDraw();
}

const zoom = (factor, at = (from + to) / 2) => setRange(at - (at - from) * factor, at + (to - at) * factor);
const move = share => setRange(from + (to - from) * share, to + (to - from) * share);
const xOf = time => gutter + (time - from) / (to - from) * (width - gutter);
const timeOf = x => from + (x - gutter) / (width - gutter) * (to - from);

/* Calls draw(x, w, position, share) for what of a lane is visible: single events where they are wide enough, else one bar for
 * all events of some pixels with the share of the time that these take. */
function eachBar(lane, draw) {
  const scale = (width - gutter) / (to - from), n = lane.ids.length;
  let i = lane.find(E.end, from);
  while (i < n) {
    const id = lane.ids[i], x = xOf(E.start[id]), w = (E.end[id] - E.start[id]) * scale;
    if (E.start[id] >= to)
      return;
    if (w >= 3) {
      draw(x, w, i++, 1);
      continue;
    }
    const left = Math.max(gutter, Math.floor(x / PIXEL) * PIXEL), until = timeOf(left + PIXEL);
    const j = Math.max(i + 1, lane.find(E.start, until, i));
    const best = lane.longest(i, j);
    if (best > i && lane.duration(best) * scale >= 3) {
      draw(left, PIXEL, lane.longest(i, best), Math.min(1, (lane.busy[best] - lane.busy[i]) * scale / PIXEL));
      i = best;
      continue;
    }
    draw(left, PIXEL, best, Math.min(1, (lane.busy[j] - lane.busy[i]) * scale / PIXEL));
    i = j;
  }
}

function drawLane(row, y, lane, isFaint) {
  const high = row.height - 3;
  eachBar(lane, (x, w, position, share) => {
    const id = lane.ids[position], right = Math.min(x + w, width);
    const left = Math.max(x, gutter);
    paint.globalAlpha = (isFaint ? 0.16 : 1) * (0.55 + 0.45 * share);
    paint.fillStyle = E.extra[id] && E.kind[id] === API ? colours.select : colourOf(E.name[id]);
    paint.fillRect(left, y + 1, Math.max(right - left - (w > 4 ? 1 : 0), 1), high);
    if (right - left > 34 && !isFaint) {
      paint.globalAlpha = 1;
      paint.fillStyle = E.extra[id] && E.kind[id] === API ? colours.back : colours['event-text'];
      paint.fillText(fit(data.strings[E.name[id]], right - left - 8), left + 4, y + row.height / 2 + 0.5);
    }
  });
  paint.globalAlpha = 1;
}

/* What of a text has room; letters are about as wide as those of a mean. */
let letter = 6.4;
function fit(text, room) {
  const most = Math.floor(room / letter);
  return text.length <= most ? text : most > 1 ? text.slice(0, most - 1) + '…' : '';
}

function drawUse(row, y) {
  const scale = (to - from) / (width - gutter), high = row.height - 4;
  paint.fillStyle = colours.c0;
  for (let x = gutter; x < width; x += PIXEL) {
    const first = timeOf(x), share = (row.union.before(first + PIXEL * scale) - row.union.before(first)) / (PIXEL * scale);
    if (share > 0)
      paint.fillRect(x, y + 2 + high * (1 - share), PIXEL, Math.max(1, high * share));
  }
}

function lastAt(times, time) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

function drawMemory(row, y) {
  const { time, bytes, peak } = row.curve, high = row.height - 4;
  const scale = (to - from) / (width - gutter);
  paint.fillStyle = colours.c1;
  for (let x = gutter; x < width; x += PIXEL) {
    const first = lastAt(time, timeOf(x)), last = lastAt(time, timeOf(x) + PIXEL * scale);
    let most = first < 0 ? 0 : bytes[first];
    for (let i = Math.max(0, first); i <= last; i += Math.max(1, Math.floor((last - first) / 64)))
      most = Math.max(most, bytes[i]);
    if (most)
      paint.fillRect(x, y + 2 + high * (1 - most / peak), PIXEL, high * most / peak);
  }
  const text = 'peak ' + sizeText(peak);
  paint.fillStyle = colours.back;
  paint.fillRect(gutter + 2, y + 2, paint.measureText(text).width + 6, 15);
  paint.fillStyle = colours.text;
  paint.fillText(text, gutter + 5, y + 10);
}

function drawAxis() {
  const wanted = (to - from) / Math.max(2, (width - gutter) / 110);
  const power = 10 ** Math.floor(Math.log10(wanted)), step = power * [1, 2, 5, 10].find(f => power * f >= wanted);
  paint.fillStyle = colours.back;
  paint.fillRect(0, 0, width, AXIS);
  paint.strokeStyle = colours.line;
  paint.beginPath();
  paint.moveTo(0, AXIS - 0.5);
  paint.lineTo(width, AXIS - 0.5);
  paint.fillStyle = colours.quiet;
  for (let time = Math.ceil((from - start0) / step) * step; time + start0 < to; time += step) {
    const x = Math.round(xOf(time + start0)) + 0.5;
    paint.moveTo(x, AXIS - 5);
    paint.lineTo(x, AXIS);
    if (x > gutter - 1 && x + 50 < width)
      paint.fillText(momentText(time, step), x + 3, AXIS / 2);
  }
  paint.stroke();
}

function drawLabels(first) {
  for (const row of rows) {
    const y = row.top - first + AXIS;
    if (y + row.height < AXIS || y > tall)
      continue;
    paint.fillStyle = row.type === 'head' ? colours.soft : colours.back;
    paint.fillRect(0, y, row.type === 'head' ? width : gutter, row.height);
    paint.fillStyle = row.type === 'head' ? colours.text : colours.quiet;
    paint.font = (row.type === 'head' ? '600 ' : '') + '12px system-ui, sans-serif';
    const indent = 6 + row.level * (gutter > 120 ? 12 : 5);
    paint.fillText(fit(row.label, (row.type === 'head' ? width : gutter) - indent), indent, y + row.height / 2 + 0.5);
    if (row === focusRow) {
      paint.fillStyle = colours.select;
      paint.fillRect(0, y + 1, 3, row.height - 3);
    }
  }
  paint.font = '12px system-ui, sans-serif';
}

function boxOf(id, first) {
  const row = rowOf(id);
  return row && { left: xOf(E.start[id]), right: xOf(E.end[id]), top: row.top - first + AXIS, height: row.height, row };
}

function drawFrame(id, first) {
  const box = boxOf(id, first);
  if (!box || box.right < gutter || box.left > width)
    return;
  const left = Math.max(box.left, gutter - 2), right = Math.min(box.right, width + 2);
  paint.strokeStyle = colours.select;
  paint.lineWidth = 2;
  paint.strokeRect(left - 1, box.top, Math.max(right - left + 1, 3), box.height - 2);
  paint.lineWidth = 1;
}

/* From a call to what it launched. */
function drawArrow(call, work, first) {
  const a = boxOf(call, first), b = boxOf(work, first);
  if (!a || !b)
    return;
  const x0 = Math.min(a.right, Math.max(a.left, b.left)), y0 = a.top + a.height / 2, x1 = b.left, y1 = b.top + b.height / 2;
  const bend = Math.max(18, Math.abs(x1 - x0) / 2);
  paint.strokeStyle = paint.fillStyle = colours.arrow;
  paint.lineWidth = 1.5;
  paint.beginPath();
  paint.moveTo(x0, y0);
  paint.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  paint.stroke();
  paint.beginPath();
  paint.moveTo(x1, y1);
  paint.lineTo(x1 - 7, y1 - 4);
  paint.lineTo(x1 - 7, y1 + 4);
  paint.fill();
  paint.lineWidth = 1;
}

function draw() {
  queued = false;
  const ratio = devicePixelRatio || 1, first = view.scrollTop;
  paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  paint.fillStyle = colours.back;
  paint.fillRect(0, 0, width, tall);
  paint.font = '12px system-ui, sans-serif';
  paint.textBaseline = 'middle';
  letter = paint.measureText('abcdefghm_CUDA<int>(*)').width / 21;
  for (const row of rows) {
    const y = row.top - first + AXIS;
    if (y + row.height < AXIS || y > tall)
      continue;
    if (row.type === 'lane') {
      drawLane(row, y, row.lane, !!matching);
      if (row.match)
        drawLane(row, y, row.match, false);
    } else if (row.type === 'use') {
      drawUse(row, y);
    } else if (row.type === 'memory') {
      drawMemory(row, y);
    }
  }
  drawLabels(first);
  paint.save();
  paint.beginPath();
  paint.rect(gutter, AXIS, width - gutter, tall);
  paint.clip();
  if (hovered >= 0)
    drawFrame(hovered, first);
  if (selected >= 0) {
    drawFrame(selected, first);
    for (const other of related)
      drawArrow(isWork(selected) ? other : selected, isWork(selected) ? selected : other, first);
  }
  paint.restore();
  drawAxis();
}

function resize() {
  const ratio = devicePixelRatio || 1;
  width = view.clientWidth;
  tall = view.clientHeight;
  gutter = width < 600 ? 84 : 170;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(tall * ratio);
  canvas.style.width = width + 'px';
  canvas.style.height = tall + 'px';
  element('spacer').style.height = Math.max(height + AXIS, tall) + 'px';
  requestDraw();
}

/* ---- one event */

function facts(id) {
  const kind = KINDS[E.kind[id]], out = [['What', KIND_WORDS[kind]]];
  out.push(['Starts', momentText(E.start[id] - start0, 1)]);
  if (kind === 'mark')
    out.push(['', E.extra[id] === 34 ? 'a moment' : 'a range that did not end']);
  else
    out.push(['Takes', timeText(E.end[id] - E.start[id])]);
  if (isWork(id)) {
    const s = streams[E.place[id]];
    out.push(['Where', `${deviceText(s.device)}, context ${s.context}, stream ${s.stream}`]);
  } else {
    const t = threads[E.place[id]];
    out.push(['Where', `process ${t.process}, thread ${t.thread}`]);
  }
  if (kind === 'kernel') {
    const s = data.shapes[E.extra[id]].split(',').map(Number);
    out.push(['Grid', s.slice(0, 3).join(' × ')], ['Block', s.slice(3, 6).join(' × ')], ['Registers', String(s[6])],
      ['Shared memory', `${sizeText(s[7])} static, ${sizeText(s[8])} dynamic`]);
  } else if (isWork(id)) {
    out.push(['Bytes', `${whole.format(E.extra[id])} (${sizeText(E.extra[id])}), ${sizeText(E.extra[id] / (E.end[id] - E.start[id] || 1) * 1e9)}/s`]);
  } else if (kind === 'api' && E.extra[id]) {
    out.push(['Result', 'error ' + E.extra[id]]);
  }
  return out;
}

/* The call of a kernel or copy; of a call, what it caused. */
function relatedTo(id) {
  const correlation = E.correlation[id], found = [];
  if (!correlation || !(isWork(id) || E.kind[id] === API))
    return found;
  const process = processOf(id);
  const first = isWork(id) ? offsets[API] : offsets[WORK], last = isWork(id) ? offsets[API + 1] : total;
  for (let other = first; other < last && found.length < 100; other++)
    if (E.correlation[other] === correlation && processOf(other) === process)
      found.push(other);
  return found;
}

function select(id, isShown) {
  selected = id;
  related = id < 0 ? [] : relatedTo(id);
  const details = element('details');
  details.replaceChildren();
  view.dataset.selected = id < 0 ? '' : data.strings[E.name[id]];
  if (id >= 0) {
    focusRow = rowOf(id) || focusRow;
    const list = make('dl');
    for (const [term, text] of facts(id))
      list.append(make('dt', { textContent: term }), make('dd', { textContent: text }));
    details.append(make('h3', { textContent: data.strings[E.name[id]] }), list);
    for (const other of related.slice(0, 8)) {
      const button = make('button', { type: 'button', textContent: `${isWork(id) ? 'Launched by' : 'Launched'} ${data.strings[E.name[other]]}` });
      button.addEventListener('click', () => select(other, true));
      details.append(button, ' ');
    }
    if (related.length > 8)
      details.append(`and ${related.length - 8} more`);
    if (isShown)
      show(id);
  }
  requestDraw();
}

/* Moves the view so that the event is in it, and large enough to be seen. */
function show(id) {
  const row = rowOf(id), length = to - from, duration = E.end[id] - E.start[id];
  if (duration > length || duration < length / 5000)
    setRange(E.start[id] - Math.max(duration, 50) * 20, E.end[id] + Math.max(duration, 50) * 20);
  else if (E.start[id] < from || E.end[id] > to)
    setRange((E.start[id] + E.end[id] - length) / 2, (E.start[id] + E.end[id] + length) / 2);
  if (row && (row.top < view.scrollTop || row.top + row.height + AXIS > view.scrollTop + tall))
    view.scrollTop = row.top - tall / 2;
}

function eventAt(x, y) {
  const top = y - AXIS + view.scrollTop, row = laneRows.find(r => top >= r.top && top < r.top + r.height);
  if (!row || x < gutter || y < AXIS)
    return -1;
  const slack = 3 * (to - from) / (width - gutter), time = timeOf(x), lane = row.match || row.lane;
  const i = lane.find(E.end, time - slack), j = lane.find(E.start, time + slack, i);
  if (i >= j)
    return -1;
  for (let at = i; at < Math.min(j, i + 50); at++)
    if (E.start[lane.ids[at]] <= time && time < E.end[lane.ids[at]])
      return lane.ids[at];
  return lane.ids[lane.longest(i, j)];
}

function showTip(id, x, y) {
  tip.hidden = id < 0;
  if (id < 0)
    return;
  tip.textContent = `${data.strings[E.name[id]]}\n${facts(id).map(f => (f[0] ? f[0] + ': ' : '') + f[1]).join('\n')}`;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 6)) + 'px';
  tip.style.top = Math.max(4, y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + 'px';
}

/* For the keyboard: beside the event itself. */
function tipAtSelected() {
  const box = selected >= 0 && boxOf(selected, view.scrollTop), place = canvas.getBoundingClientRect();
  if (box)
    showTip(selected, place.left + Math.min(Math.max(box.left, gutter), width), place.top + box.top);
  else
    showTip(-1);
}

/* ---- mouse, touch, keys */

const pointers = new Map();
let moved = 0;

function pinch(event) {
  const [a, b] = [...pointers.values()], before = Math.abs(a.x - b.x), at = timeOf((a.x + b.x) / 2);
  pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  const [c, d] = [...pointers.values()];
  zoom(Math.max(before, 8) / Math.max(Math.abs(c.x - d.x), 8), at);
}

canvas.addEventListener('pointerdown', event => {
  pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  canvas.setPointerCapture(event.pointerId);
  moved = 0;
});
canvas.addEventListener('pointermove', event => {
  const last = pointers.get(event.pointerId);
  if (!last) {
    hovered = eventAt(event.offsetX, event.offsetY);
    showTip(hovered, event.clientX, event.clientY);
    requestDraw();
    return;
  }
  showTip(-1);
  if (pointers.size > 1) {
    pinch(event);
    moved = 99;
    return;
  }
  const x = event.offsetX - last.x, y = event.offsetY - last.y;
  moved += Math.abs(x) + Math.abs(y);
  move(-x / (width - gutter));
  view.scrollTop -= y;
  pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
});
canvas.addEventListener('pointerup', event => {
  if (pointers.delete(event.pointerId) && moved < 5)
    select(eventAt(event.offsetX, event.offsetY), false);
});
canvas.addEventListener('pointercancel', event => pointers.delete(event.pointerId));
canvas.addEventListener('pointerleave', () => {
  hovered = -1;
  showTip(-1);
  requestDraw();
});
canvas.addEventListener('blur', () => showTip(-1));
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  if (event.shiftKey)
    view.scrollTop += event.deltaY || event.deltaX;
  else if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
    move(event.deltaX / (width - gutter));
  else
    zoom(1.0015 ** Math.max(-400, Math.min(400, event.deltaY * (event.deltaMode ? 33 : 1))), timeOf(event.offsetX));
}, { passive: false });
view.addEventListener('scroll', requestDraw);

/* The next event of the row with the focus, from the one that is selected, or the first that is visible. */
function step(forward) {
  const row = focusRow || laneRows[0];
  if (!row)
    return;
  const lane = row.match || row.lane, has = selected >= 0 && rowOf(selected) === row;
  const at = has ? lane.find(E.start, E.start[selected] - 0.5) : lane.find(E.end, from);
  const next = lane.ids[has ? at + (forward ? 1 : -1) : Math.min(at, lane.ids.length - 1)];
  focusRow = row;
  if (next !== undefined)
    select(next, true);
}

function stepRow(by) {
  const at = Math.max(0, Math.min(laneRows.length - 1, focusRow ? laneRows.indexOf(focusRow) + by : 0));
  focusRow = laneRows[at] || null;
  if (!focusRow)
    return;
  if (focusRow.top < view.scrollTop || focusRow.top + focusRow.height + AXIS > view.scrollTop + tall)
    view.scrollTop = focusRow.top - tall / 2;
  selected = -1;
  step(true);
}

function zoomToSelected() {
  if (selected >= 0)
    setRange(E.start[selected] - (E.end[selected] - E.start[selected]) / 4, E.end[selected] + (E.end[selected] - E.start[selected]) / 4);
}

const actions = {
  in: () => zoom(0.5), out: () => zoom(2), left: () => move(-0.25), right: () => move(0.25), fit: () => setRange(start0, end0),
  next: () => nextMatch(true), previous: () => nextMatch(false),
  up: () => stepRow(-1), down: () => stepRow(1), later: () => step(true), earlier: () => step(false),
  cross: () => related.length && select(related[0], true), focus: zoomToSelected, nothing: () => select(-1),
};
const KEYS = { w: 'in', '+': 'in', '=': 'in', s: 'out', '-': 'out', a: 'left', ArrowLeft: 'left', d: 'right', ArrowRight: 'right', 0: 'fit', Home: 'fit',
  ArrowUp: 'up', ArrowDown: 'down', n: 'later', p: 'earlier', Enter: 'cross', f: 'focus', Escape: 'nothing' };

canvas.addEventListener('keydown', event => {
  const action = event.ctrlKey || event.altKey || event.metaKey ? null : KEYS[event.key] || KEYS[event.key.toLowerCase()];
  if (!action)
    return;
  event.preventDefault();
  actions[action]();
  tipAtSelected();
});
for (const button of document.querySelectorAll('[data-do]'))
  button.addEventListener('click', () => actions[button.dataset.do]());

/* ---- search */

let matches = 0;

function search(text) {
  const wanted = text.toLowerCase();
  matching = wanted ? new Uint8Array(data.strings.length) : null;
  matches = 0;
  if (matching)
    data.strings.forEach((string, i) => matching[i] = string.toLowerCase().includes(wanted));
  for (const row of laneRows) {
    const found = matching ? row.lane.ids.filter(id => matching[E.name[id]]) : [];
    row.match = matching && found.length ? new Lane(found) : null;
    matches += found.length;
  }
  element('matches').textContent = matching ? `${whole.format(matches)} ${matches === 1 ? 'match' : 'matches'}` : '';
  requestDraw();
}

/* In the order of time, from the selected event or the middle of the view. */
function nextMatch(forward) {
  const now = selected >= 0 ? E.start[selected] : forward ? from : to;
  let best = -1;
  for (const { match } of laneRows) {
    if (!match)
      continue;
    const at = forward ? match.find(E.start, now) : match.find(E.start, now - 1) - 1, id = match.ids[at];
    if (id !== undefined && (best < 0 || (E.start[id] < E.start[best]) === forward))
      best = id;
  }
  if (best >= 0)
    select(best, true);
}

element('search').addEventListener('input', event => search(event.target.value));
element('search').addEventListener('keydown', event => {
  if (event.key === 'Enter')
    nextMatch(!event.shiftKey);
});

/* ---- where the time went */

function timeSection() {
  const classes = data.classes.map((c, i) => Object.assign(c, { colour: `var(--c${i})` })), sum = classes.reduce((s, c) => s + c.ns, 0);
  const body = element('time').tBodies[0];
  for (const c of classes) {
    const part = make('div', { title: `${c.title}: ${timeText(c.ns)}, ${percent(c.ns, wall)}` });
    part.style.width = wall ? 100 * c.ns / wall + '%' : '0';
    part.style.background = c.colour;
    if (c.ns)
      element('bar').append(part);
    const swatch = make('span', { className: 'swatch' });
    swatch.style.background = c.colour;
    const number = make('td', { className: 'number', textContent: timeText(c.ns), title: whole.format(c.ns) + ' ns' });
    number.dataset.value = String(c.ns);
    body.append(make('tr', {}, make('th', { scope: 'row' }, swatch, c.title), number, make('td', { className: 'number', textContent: percent(c.ns, wall) }),
      make('td', { textContent: c.meaning })));
  }
  const foot = make('td', { className: 'number', textContent: timeText(wall), title: whole.format(wall) + ' ns' });
  foot.dataset.value = String(wall);
  element('time').tFoot.append(make('tr', {}, make('td', { textContent: 'Everything' }), foot,
    make('td', { className: 'number', textContent: percent(sum, wall) }),
    make('td', { textContent: sum === wall ? 'the time of the recording, each moment counted once' : 'the classes do not add up: this is an error of heddle' })));
  const known = classes.filter(c => c.ns).sort((a, b) => b.ns - a.ns);
  element('bar').setAttribute('aria-label', known.map(c => `${c.title} ${percent(c.ns, wall)}`).join(', '));
  element('sentence').textContent = sentence(known);
}

/* In the order of the classes. */
const WENT_INTO = ['running kernels', 'copying or filling memory', 'compiling kernels that a call waited for', 'waiting with the device idle', 'CUDA calls with the device idle',
  'host code with the device idle', 'the time before the first use of CUDA', 'the time after the last use of CUDA'];

function sentence(known) {
  if (!known.length)
    return 'Nothing was recorded.';
  const parts = known.slice(0, 3).map((c, i) => `${percent(c.ns, wall)} ${i ? '' : 'went '}into ${WENT_INTO[data.classes.indexOf(c)]}`);
  const last = parts.length > 1 ? ' and ' + parts.pop() : '';
  return `Of ${timeText(wall)}, ${parts.join(', ')}${last}. A device was busy for ${percent(data.classes[0].ns + data.classes[1].ns, wall)} of the time.`;
}

/* ---- tables */

const TABLES = [['kernel', 'Kernels', ['kernel']], ['copy', 'Copies and fills', ['copy', 'fill']], ['api', 'CUDA calls', ['api']], ['nvtx', 'NVTX ranges', ['nvtx']],
  ['osrt', 'Calls of the system', ['osrt']], ['compile', 'Compilations', ['compile']]];
const COLUMNS = [['Name', r => r.name, t => t], ['Share', r => r.total], ['Total', r => r.total, timeText], ['Count', r => r.count, n => whole.format(n)],
  ['Mean', r => r.total / r.count, timeText], ['Min', r => r.min, timeText], ['Max', r => r.max, timeText]];
const BYTES = [['Bytes', r => r.bytes, sizeText], ['Bytes/s', r => r.total ? r.bytes / r.total * 1e9 : 0, sizeText]];
const ROWS_SHOWN = 100;

/* Sums of what lies in [first, last), from the events; of those that cross a border, the part inside. */
function sumsOf(kinds, first, last) {
  const found = new Map();
  for (const kind of kinds.map(k => KINDS.indexOf(k)))
    for (let id = offsets[kind]; id < offsets[kind + 1]; id++) {
      if (E.start[id] > last || E.end[id] < first)
        continue;
      const time = Math.min(E.end[id], last) - Math.max(E.start[id], first);
      let row = found.get(E.name[id]);
      if (!row)
        found.set(E.name[id], row = { name: data.strings[E.name[id]], count: 0, total: 0, min: Infinity, max: 0, bytes: 0 });
      row.count++;
      row.total += time;
      row.min = Math.min(row.min, time);
      row.max = Math.max(row.max, time);
      row.bytes += kind > WORK ? E.extra[id] : 0;
    }
  return [...found.values()];
}

const wholeRows = key => data.tables[key].map(([name, count, sum, min, max, bytes]) => ({ name: name ?? '', count, total: sum, min, max, bytes }));

class Table {
  constructor([key, title, kinds]) {
    this.key = key;
    this.kinds = kinds;
    this.columns = key === 'copy' ? COLUMNS.concat(BYTES) : COLUMNS;
    this.sorted = 2;
    this.falling = true;
    this.shown = ROWS_SHOWN;
    this.rows = wholeRows(key);
    if (!this.rows.length)
      return;
    this.table = make('table', { id: 'table-' + key });
    this.heads = this.columns.map(([name], i) => {
      const button = make('button', { type: 'button', textContent: name });
      button.addEventListener('click', () => this.sort(i));
      return make('th', { scope: 'col', className: i ? 'number' : '' }, button);
    });
    this.body = make('tbody');
    this.table.append(make('thead', {}, make('tr', {}, ...this.heads)), this.body);
    this.more = make('button', { type: 'button' });
    this.more.addEventListener('click', () => {
      this.shown = Infinity;
      this.fill();
    });
    const heading = make('h2', { id: 'title-' + key, textContent: title }), wrap = make('div', { className: 'wrap', tabIndex: 0 }, this.table);
    wrap.setAttribute('role', 'region');
    wrap.setAttribute('aria-labelledby', heading.id);
    this.table.setAttribute('aria-labelledby', heading.id);
    element('tables').append(heading, wrap, this.more);
    this.fill();
  }
  sort(column) {
    this.falling = column === this.sorted ? !this.falling : column > 0;
    this.sorted = column;
    this.fill();
  }
  set(rows) {
    this.rows = rows;
    if (this.table)
      this.fill();
  }
  fill() {
    const value = this.columns[this.sorted][1], sum = this.rows.reduce((s, r) => s + r.total, 0);
    this.rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (this.falling ? -1 : 1);
    });
    this.heads.forEach((head, i) => head.setAttribute('aria-sort', i !== this.sorted ? 'none' : this.falling ? 'descending' : 'ascending'));
    this.body.replaceChildren(...this.rows.slice(0, this.shown).map(row => this.line(row, sum)));
    this.more.hidden = this.rows.length <= this.shown;
    this.more.textContent = `Show all ${whole.format(this.rows.length)}`;
  }
  line(row, sum) {
    const name = make('button', { type: 'button', textContent: row.name || '(no name)', title: 'Search for it in the timeline' });
    name.addEventListener('click', () => {
      element('search').value = row.name;
      search(row.name);
      nextMatch(true);
      view.scrollIntoView({ block: 'nearest' });
    });
    const mark = make('i');
    mark.style.width = sum ? 100 * row.total / sum + '%' : '0';
    mark.setAttribute('aria-hidden', 'true');
    return make('tr', {}, make('td', { className: 'name' }, name), make('td', { className: 'number share' }, make('span', { textContent: percent(row.total, sum) }), mark),
      ...this.columns.slice(2).map(([, value, text]) => {
        const cell = make('td', { className: 'number', textContent: text(value(row)) });
        cell.dataset.value = String(value(row));
        return cell;
      }));
  }
}

/* ---- the roofline: rates over intensities, both as logarithms */

const rateText = rate => scaled(rate, 1000, ['FLOP/s', 'kFLOP/s', 'MFLOP/s', 'GFLOP/s', 'TFLOP/s']);
const bandwidthText = rate => scaled(rate, 1000, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s']);
const MEMORIES = ['DRAM', 'L3', 'L2', 'L1'];

function svg(tag, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes))
    node.setAttribute(name, value);
  node.append(...children);
  return node;
}

class Chart {
  constructor(points, single, double, memories) {
    const [W, H, LEFT, BOTTOM, TOP] = [760, 380, 92, 40, 16], roofs = memories.map(m => m.rate).filter(r => r > 0);
    const ridges = roofs.map(r => single / r), xs = points.map(p => p.intensity).concat(ridges);
    const ys = points.map(p => p.flops).concat([single, double].filter(r => r > 0));
    const decades = values => [Math.floor(Math.log10(Math.min(...values)) - 0.3), Math.ceil(Math.log10(Math.max(...values)) + 0.3)];
    [this.x0, this.x1] = decades(xs);
    [this.y0, this.y1] = decades(ys);
    this.x = v => LEFT + (Math.log10(v) - this.x0) / (this.x1 - this.x0) * (W - LEFT - 12);
    this.y = v => H - BOTTOM - (Math.log10(v) - this.y0) / (this.y1 - this.y0) * (H - BOTTOM - TOP);
    this.node = svg('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img' });
    this.axes(W, H, BOTTOM);
    memories.filter(m => m.rate > 0).forEach(m => this.roof(m, single));
    this.ceiling(single, 'FP32', 'roof', W);
    this.ceiling(double, 'FP64', 'double', W);
    points.forEach(p => this.point(p));
  }
  text(x, y, text, attributes = {}) {
    this.node.append(svg('text', { x, y, ...attributes }, text));
  }
  axes(W, H, BOTTOM) {
    for (let d = this.x0; d <= this.x1; d++) {
      const x = this.x(10 ** d);
      this.node.append(svg('line', { x1: x, x2: x, y1: this.y(10 ** this.y1), y2: H - BOTTOM }));
      this.text(x, H - BOTTOM + 16, String(Number((10 ** d).toPrecision(1))), { 'text-anchor': 'middle' });
    }
    for (let d = this.y0; d <= this.y1; d++) {
      const y = this.y(10 ** d);
      this.node.append(svg('line', { x1: this.x(10 ** this.x0), x2: W - 12, y1: y, y2: y }));
      this.text(this.x(10 ** this.x0) - 6, y + 4, rateText(10 ** d), { 'text-anchor': 'end' });
    }
    this.text(W - 12, H - 6, 'FLOP/byte', { 'text-anchor': 'end' });
  }
  /* From the lower or the left border to the ridge. */
  roof(memory, single) {
    const from = Math.max(10 ** this.x0, 10 ** this.y0 / memory.rate), ridge = single / memory.rate;
    if (from >= ridge)
      return;
    this.node.append(svg('polyline', { class: memory.name === 'DRAM' ? 'roof' : 'cache', points: [from, ridge].map(v => `${this.x(v)},${this.y(v * memory.rate)}`).join(' ') }));
    const at = Math.sqrt(from * ridge), slope = Math.atan2(this.y(ridge * memory.rate) - this.y(from * memory.rate), this.x(ridge) - this.x(from)) * 180 / Math.PI;
    this.text(0, -4, memory.name, { transform: `translate(${this.x(at)} ${this.y(at * memory.rate)}) rotate(${slope})`, class: 'label' });
  }
  ceiling(rate, name, type, W) {
    if (!(rate > 0))
      return;
    this.node.append(svg('line', { class: type, x1: this.x(10 ** this.x0), x2: W - 12, y1: this.y(rate), y2: this.y(rate) }));
    this.text(W - 16, this.y(rate) - 4, `${name}: ${rateText(rate)}`, { 'text-anchor': 'end', class: 'label' });
  }
  point(p) {
    const [x, y] = [this.x(p.intensity), this.y(p.flops)];
    this.node.append(svg('circle', { cx: x, cy: y, r: 5, class: p.uncounted ? 'timed' : 'slowed' }, svg('title', {}, `${p.number}: ${p.name}, ${rateText(p.flops)}`)));
    this.text(x + 8, y + 4, p.number, { class: 'label' });
  }
}

function rooflineRow(p) {
  const number = (value, text) => {
    const cell = make('td', { className: 'number', textContent: value > 0 ? text(value) : 'n/a' });
    cell.dataset.value = String(value);
    return cell;
  };
  const part = value => value.toFixed(1) + '\u00a0%';
  return make('tr', {}, make('td', { className: 'number', textContent: p.number }), make('td', { className: 'name', textContent: p.name }),
    ...[p.grid, p.block].map(size => make('td', { textContent: size.replaceAll(' ', '\u00a0') })), number(p.intensity, v => String(Number(v.toPrecision(3)))), number(p.flops, rateText),
    number(p.bytes, bandwidthText), number(p.part, part), make('td', { textContent: p.uncounted ? `${whole.format(p.uncounted)} not counted` : 'while counted' }));
}

function rooflineSection() {
  const number = value => typeof value === 'number' && isFinite(value) ? value : 0;
  const [single, double, ...rates] = (data.peaks[0] ?? []).map(number), memories = rates.map((rate, i) => ({ name: MEMORIES[i], rate }));
  const points = data.roofline.map(([name, grid, block, ...values], i) => {
    const [intensity, flops, bytes, part, uncounted] = values.map(number);
    return { number: i + 1, name: String(name ?? ''), grid: String(grid ?? ''), block: String(block ?? ''), intensity, flops, bytes, part, uncounted };
  });
  if (!(single > 0) || !points.length)
    return;
  const drawn = points.filter(p => p.intensity > 0 && p.flops > 0), chart = new Chart(drawn, single, double, memories);
  const roofs = memories.filter(m => m.rate > 0).map(m => `${m.name} ${bandwidthText(m.rate)}`).join(', ');
  chart.node.setAttribute('aria-label', `Roofline: ${drawn.length} kernels under ${rateText(single)} in FP32, ${rateText(double)} in FP64; ${roofs}. The table has the same numbers.`);
  element('roofline-text').textContent = `Peaks of the host, all threads: ${rateText(single)} in FP32, ${rateText(double)} in FP64; ${roofs}. Bytes are those that kernels ask for, of which caches serve a part. `
    + 'Times are medians of launches that were not counted; hollow points are slower, as each launch was counted.';
  element('roofline-chart').append(chart.node);
  const head = ['', 'Kernel', 'Grid', 'Block', 'FLOP/byte', 'FLOP/s', 'Bytes/s', 'Of its roof', 'Launches'];
  const table = make('table', { id: 'table-roofline' }, make('thead', {}, make('tr', {}, ...head.map((name, i) =>
    make('th', { scope: 'col', className: !i || (i > 3 && i < 8) ? 'number' : '', textContent: name || 'No.' })))), make('tbody', {}, ...points.map(rooflineRow)));
  table.setAttribute('aria-labelledby', 'roofline-title');
  element('roofline-rows').append(table);
  element('roofline').hidden = false;
}
rooflineSection();

/* ---- counters by line of the source: those with the most instructions first, as they come */
const LINE_COUNTERS = ['Instructions', 'Thread instr.', 'Divergent br.', 'Sectors', 'Ideal', 'Wavefronts', 'Ideal', 'Local bytes'];

function sourceSection() {
  const columns = LINE_COUNTERS.map((name, i) => i).filter(i => data.lines.some(row => row[4 + i] > 0)); // what no line has is left out
  if (!columns.length)
    return;
  const rows = data.lines.map(row => make('tr', {}, ...columns.map(i => {
    const cell = make('td', { className: 'number', textContent: whole.format(row[4 + i] ?? 0) });
    cell.dataset.value = String(row[4 + i] ?? 0);
    return cell;
  }), make('td', { textContent: `${String(row[1] || '?').replace(/.*\//, '')}:${row[2]}`, title: row[1] ?? '' }),
  make('td', { className: 'code', textContent: row[3] ?? '' }), make('td', { textContent: row[0] ?? '' })));
  const head = [...columns.map(i => LINE_COUNTERS[i]), 'Line', 'Source', 'Kernel'];
  const table = make('table', { id: 'table-source' }, make('thead', {}, make('tr', {}, ...head.map((name, i) =>
    make('th', { scope: 'col', className: i < columns.length ? 'number' : '', textContent: name })))), make('tbody', {}, ...rows));
  table.setAttribute('aria-labelledby', 'source-title');
  element('source-text').textContent = 'Sums over the launches that were counted. Sectors: of global memory; wavefronts: of shared memory. Ideal: what coalesced accesses without conflicts would need.'
    + (data.lines.length === 500 ? ' The 500 lines with the most instructions.' : '');
  element('source-rows').append(table);
  element('source').hidden = false;
}
sourceSection();

deviceTable();
const tables = TABLES.map(parts => new Table(parts));
let tableTimer = 0;

function fillTables() {
  const isPart = element('visible').checked;
  for (const table of tables)
    table.set(isPart ? sumsOf(table.kinds, from, to) : wholeRows(table.key));
}

function scheduleTables() {
  clearTimeout(tableTimer);
  tableTimer = setTimeout(fillTables, 120);
}
element('visible').addEventListener('change', fillTables);

/* How busy each device was. */
function deviceTable() {
  const rowsOf = data.devices.map(([device, busy, kernels]) => make('tr', {}, make('th', { scope: 'row', textContent: deviceText(device) }),
    make('td', { className: 'number', textContent: percent(busy, wall) }), ...[busy, kernels || 0].map(ns => {
      const cell = make('td', { className: 'number', textContent: timeText(ns) });
      cell.dataset.value = String(ns);
      return cell;
    })));
  if (!rowsOf.length)
    return;
  const heading = make('h2', { id: 'title-device', textContent: 'Devices' });
  const table = make('table', { id: 'table-device' }, make('thead', {}, make('tr', {}, ...['Device', 'Busy', 'Busy time', 'With kernels'].map((name, i) =>
    make('th', { scope: 'col', className: i ? 'number' : '', textContent: name })))), make('tbody', {}, ...rowsOf));
  table.setAttribute('aria-labelledby', heading.id);
  element('tables').append(heading, make('div', { className: 'wrap' }, table));
}

/* ---- notes */

/* Sums that come from the events are those that the tables were given. */
function agree() {
  return TABLES.every(([key, , kinds]) => {
    const sums = new Map(sumsOf(kinds, -Infinity, Infinity).map(r => [r.name, r]));
    return wholeRows(key).every(r => sums.get(r.name)?.count === r.count && sums.get(r.name).total === r.total && sums.get(r.name).bytes === (r.bytes || 0));
  });
}

function notes() {
  const list = [];
  const number = n => whole.format(n);
  if (data.left_out)
    list.push(`The timeline leaves out ${number(data.left_out)} of ${number(data.events)} events, none longer than ${timeText(data.left_out_ns)}; the tables have all, but not where they are of "only what the timeline shows now".`);
  else
    list.push(`The timeline has all ${number(data.events)} events of the report. ${agree() ? 'Their sums are those of the tables.' : 'Their sums are not those of the tables: the report is damaged, or this is an error of heddle.'}`);
  if (data.overlap_ns)
    list.push(`While kernels ran, memory was copied or filled for ${timeText(data.overlap_ns)}; this counts as kernels.`);
  if (tooDeep)
    list.push(`${number(tooDeep)} events lie deeper than ${LANES_MAX} levels and are not drawn.`);
  if (data.ignored)
    list.push(data.ignored > 1 ? `${number(data.ignored)} rows of the report have no valid times and are left out.` : '1 row of the report has no valid times and is left out.');
  for (const [text, count] of data.messages)
    list.push(count > 1 ? `${text} (${number(count)} times)` : text);
  element('notes').replaceChildren(...list.map(text => make('li', { textContent: text })));
}

/* ---- the page */

function setTheme(isDark) {
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  const other = isDark ? 'Light' : 'Dark';
  element('theme').textContent = other;
  element('theme').setAttribute('aria-label', `${other} colours`);
  readColours();
  requestDraw();
}

function title() {
  const command = data.command.map(([word]) => word).join(' '), host = Object.fromEntries(data.host);
  document.title = `heddle prof: ${command || data.file}`;
  const parts = [command, data.utc[0]?.[0], host.Hostname, host.CpuCores && host.CpuCores + ' CPUs', `heddle ${data.version}`];
  element('what').textContent = parts.filter(Boolean).join(' · ');
}

/* All, or, where most of it is empty, what is not. */
function firstRange() {
  let first = Infinity, last = -Infinity;
  for (let id = 0; id < total; id++) {
    first = Math.min(first, E.start[id]);
    last = Math.max(last, E.end[id]);
  }
  const length = last - first;
  if (length > 0 && length < (end0 - start0) / 2)
    setRange(first - length / 20, last + length / 20);
  else
    setRange(start0, end0);
}

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
element('theme').addEventListener('click', () => setTheme(document.documentElement.dataset.theme !== 'dark'));
prefersDark.addEventListener('change', event => setTheme(event.matches));
setTheme(prefersDark.matches);
title();
timeSection();
notes();
view.style.height = Math.min(Math.max(height + AXIS + 4, 150), Math.round(innerHeight * 0.62)) + 'px';
new ResizeObserver(resize).observe(view);
resize();
firstRange();
document.documentElement.dataset.ready = 'yes';
})();
