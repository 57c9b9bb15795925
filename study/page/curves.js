'use strict';
// Line plots: Chart.js draws lines, axes and grid; bands and remarks are plugins of ours, the legend is
// HTML, so that long names wrap.

const mostMarkers = 60;
const charts = [];  // {chart, restyle} of every plot

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function channels(colour) {
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(colour);
  if (!digits) return null;
  const hex = digits[1].length === 3 ? digits[1].replace(/./g, '$&$&') : digits[1];
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function luminance(rgb) {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// The colour itself where it stands out from the surface; else mixed with white or black until it does.
function readable(colour) {
  const rgb = channels(colour);
  if (!rgb) return colour;
  const ground = luminance(channels(css('--surface')));
  const towards = ground < 0.2 ? 255 : 0;
  const wanted = ground < 0.2 ? 5 : 3;
  for (let part = 0; part < 1; part += 0.05) {
    const mixed = rgb.map((c) => Math.round(c + (towards - c) * part));
    const own = luminance(mixed);
    const contrast = (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05);
    if (contrast >= wanted) return `rgb(${mixed.join(', ')})`;
  }
  return css('--ink');
}

function faded(colour, alpha) {
  const rgb = channels(colour) || (colour.match(/\d+/g) || [128, 128, 128]).slice(0, 3);
  return `rgba(${rgb.join(', ')}, ${alpha})`;
}

function numberText(value, percent) {
  const shown = percent ? value * 100 : value;
  const size = Math.abs(shown);
  const text = size !== 0 && (size < 1e-3 || size >= 1e7)
    ? shown.toExponential(2).replace(/\.?0+e/, 'e').replace('e+', 'e')
    : shown.toLocaleString('en', {maximumSignificantDigits: 4});
  return text + (percent ? '%' : '');
}

const shown = (block, point) =>
  point[0] !== null && point[1] !== null && (!block.y.log || point[1] > 0);

// A point that is not drawn keeps a place on x, for Chart.js searches there.
function dataset(block, series) {
  let last = block.x.low;
  const data = series.points.map((point) => {
    if (point[0] !== null) last = point[0];
    return {x: last, y: shown(block, point) ? point[1] : NaN};
  });
  const alone = (i) => !Number.isNaN(data[i].y) && Number.isNaN(data[i - 1]?.y ?? NaN) && Number.isNaN(data[i + 1]?.y ?? NaN);
  return {
    label: series.name,
    data,
    ownColour: series.colour,  // until restyle() makes it stand out
    clip: 6,  // markers at the plot's edge stay whole
    borderWidth: 2.2,
    borderDash: series.dashes,
    borderJoinStyle: 'round',
    borderCapStyle: series.dashes.length ? 'butt' : 'round',
    pointStyle: ['circle', 'rect', 'triangle', 'rectRot'][series.marker],
    pointRadius: data.map((_, i) => (data.length <= mostMarkers || alone(i) ? 4 : 0)),
    pointHoverRadius: 6,
    pointBorderWidth: 1,
  };
}

// Bands between low and high under all lines; a bar where a point has no neighbour.
const bands = {
  id: 'bands',
  beforeDatasetsDraw(chart, _, {block, strength}) {
    const {ctx, chartArea: area, scales: {x, y}} = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    const place = (value) => y.getPixelForValue(block.y.log ? Math.max(value, y.min) : value);
    block.series.forEach((series, i) => {
      if (!chart.isDatasetVisible(i)) return;
      let run = [];
      const close = () => {
        ctx.beginPath();
        if (run.length === 1) {
          ctx.rect(run[0][0] - 3, run[0][2], 6, run[0][1] - run[0][2]);
        } else {
          run.forEach(([at, , high], k) => (k ? ctx.lineTo(at, high) : ctx.moveTo(at, high)));
          run.slice().reverse().forEach(([at, low]) => ctx.lineTo(at, low));
        }
        ctx.fillStyle = faded(chart.data.datasets[i].ownColour, (run.length === 1 ? 0.3 : 0.16) * strength(i));
        ctx.fill();
        run = [];
      };
      series.intervals.forEach(([low, high], k) => {
        const point = series.points[k];
        if (shown(block, point) && low !== null && high !== null) {
          run.push([x.getPixelForValue(point[0]), place(low), place(high)]);
        } else if (run.length) {
          close();
        }
      });
      if (run.length) close();
    });
    ctx.restore();
  },
};

// Words in lines of at most so many pixels.
function brokenLines(ctx, text, width) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = lines[lines.length - 1] ? lines[lines.length - 1] + ' ' + word : word;
    if (!lines[lines.length - 1] || ctx.measureText(longer).width < width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

// Whether a visible line crosses a box.
function crossed(chart, {left, right, top, bottom}) {
  return chart.data.datasets.some((_, i) => {
    const {data} = chart.getDatasetMeta(i);
    return chart.isDatasetVisible(i) && data.some((to, k) => {
      const from = data[k - 1] && !data[k - 1].skip ? data[k - 1] : to;
      if (to.skip || Math.max(from.x, to.x) < left || Math.min(from.x, to.x) > right) return false;
      return [...Array(17).keys()].some((step) => {
        const x = from.x + ((to.x - from.x) * step) / 16;
        const y = from.y + ((to.y - from.y) * step) / 16;
        return x > left && x < right && y > top && y < bottom;
      });
    });
  });
}

// Nearest first.
const shifts = [0, -14, 14, -28, 28, -42, 42]
  .flatMap((down) => [0, -20, 20, -40, 40].map((across) => [across, down]))
  .sort((a, b) => Math.hypot(...a) - Math.hypot(...b));

// Where a remark stands: as it was asked for; where a line would cross it, in shorter lines or a little
// aside.
function placed(chart, note) {
  const {ctx, chartArea: area, scales: {x, y}} = chart;
  const hold = (at, low, high) => Math.max(low, Math.min(at, Math.max(low, high)));
  let first = null;
  for (const share of [0.8, 0.45, 0.3]) {
    const lines = brokenLines(ctx, note.text, area.width * share);
    const half = Math.max(...lines.map((line) => ctx.measureText(line).width)) / 2;
    const tall = lines.length * 8;
    for (const [across, down] of shifts) {
      const left = hold(x.getPixelForValue(note.x) + across, area.left + half, area.right - half);
      const top = hold(y.getPixelForValue(note.y) + down, area.top + tall, area.bottom - tall);
      first ??= {lines, left, top};
      const box = {left: left - half - 4, right: left + half + 4, top: top - tall - 3, bottom: top + tall + 3};
      if (!crossed(chart, box)) return {lines, left, top};
    }
  }
  return first;
}

// Remarks in the plot, with a rim of the surface's colour.
const remarks = {
  id: 'remarks',
  afterDatasetsDraw(chart, _, {block}) {
    const {ctx} = chart;
    ctx.save();
    ctx.font = `italic 12px ${getComputedStyle(document.body).fontFamily}`;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    ctx.lineWidth = 4;
    ctx.lineJoin = 'round';
    ctx.strokeStyle = css('--surface');
    ctx.fillStyle = css('--quiet');
    for (const note of block.notes) {
      if (note.x === null || note.y === null) continue;
      const {lines, left, top} = placed(chart, note);
      lines.forEach((line, k) => {
        const at = top + (k - (lines.length - 1) / 2) * 16;
        ctx.strokeText(line, left, at);
        ctx.fillText(line, left, at);
      });
    }
    ctx.restore();
  },
};

// Powers of ten, with 2 and 5 between where they are few.
function powers(scale) {
  const first = Math.floor(Math.log10(scale.min) + 1e-9);
  const last = Math.ceil(Math.log10(scale.max) - 1e-9);
  const stride = Math.max(1, Math.ceil((last - first) / 7));
  const ticks = [];
  for (let exponent = first; exponent <= last; exponent += stride) {
    for (const factor of last - first < 2 ? [1, 2, 5] : [1]) {
      const value = Number(`${factor}e${exponent}`);
      if (value >= scale.min * (1 - 1e-9) && value <= scale.max * (1 + 1e-9)) ticks.push({value});
    }
  }
  scale.ticks = ticks;
}

function tipOfPoints(block, {chart, tooltip}) {
  if (tooltip.opacity === 0 || !tooltip.dataPoints?.length) return hideTip();
  const items = tooltip.dataPoints.slice().sort((a, b) => b.parsed.y - a.parsed.y);
  const box = chart.canvas.getBoundingClientRect();
  showTip(box.left + tooltip.caretX, box.top + tooltip.caretY, (tip) => {
    tip.append(element('div', 'head', `${block.x_label || 'x'}: ${numberText(items[0].parsed.x, false)}`));
    for (const item of items.slice(0, 12)) {
      const line = element('div', 'line');
      const dot = element('i');
      dot.style.background = chart.data.datasets[item.datasetIndex].ownColour;
      const value = element('b', '', numberText(item.parsed.y, block.percent));
      const [low, high] = block.series[item.datasetIndex].intervals[item.dataIndex] || [null, null];
      if (low !== null && high !== null)
        value.append(element('span', 'interval', ` (${numberText(low, block.percent)} to ${numberText(high, block.percent)})`));
      line.append(dot, element('span', '', item.dataset.label), value);
      tip.append(line);
    }
    if (items.length > 12) tip.append(element('div', 'head', `and ${items.length - 12} more`));
  });
}

function legend(block, chart, emphasise) {
  const list = element('ul', 'legend');
  const swatches = block.series.map((series, i) => {
    const item = element('li');
    const button = element('button');
    button.type = 'button';
    button.setAttribute('aria-pressed', 'true');
    const swatch = element('canvas');
    const words = element('span');
    const any = series.points.some((point) => shown(block, point));
    words.append(element('span', 'name', series.name + (any ? '' : ' (no data)')));
    if (series.detail) words.append(element('span', 'detail', series.detail));
    button.append(swatch, words);
    button.addEventListener('click', () => {
      const visible = !chart.isDatasetVisible(i);
      chart.setDatasetVisibility(i, visible);
      button.setAttribute('aria-pressed', String(visible));
      fitY(block, chart);
      chart.update();
    });
    for (const [event, which] of [['pointerenter', i], ['focus', i], ['pointerleave', -1], ['blur', -1]])
      button.addEventListener(event, () => emphasise(which));
    item.append(button);
    list.append(item);
    return swatch;
  });
  return {list, swatches};
}

// A bit of the line with its marker, as the plot has it.
function drawSwatch(canvas, look) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = 30 * scale;
  canvas.height = 16 * scale;
  const ctx = canvas.getContext('2d');
  ctx.scale(scale, scale);
  ctx.strokeStyle = ctx.fillStyle = look.ownColour;
  ctx.lineWidth = 2.2;
  ctx.setLineDash(look.borderDash);
  ctx.beginPath();
  ctx.moveTo(1, 8);
  ctx.lineTo(29, 8);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.lineWidth = 1;
  if (look.data.length <= mostMarkers) Chart.helpers.drawPoint(ctx, {pointStyle: look.pointStyle, radius: 4, borderWidth: 0, rotation: 0}, 15, 8);
}

// The axis stays while every series is seen; it closes in on those left when some are hidden.
function fitY(block, chart) {
  const axis = chart.options.scales.y;
  const all = block.series.every((_, i) => chart.isDatasetVisible(i));
  axis.min = all ? block.y.low : undefined;
  axis.max = all ? block.y.high : undefined;
}

function drawCurves(section, block) {
  const card = element('figure', 'card curves');
  const canvas = element('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `${block.title}: ${block.series.map((series) => series.name).join('; ')}`);
  const plot = element('div', 'plot');
  plot.append(canvas);
  if (block.y_label) card.append(element('p', 'axis y', block.y_label));
  card.append(plot);
  if (block.x_label) card.append(element('p', 'axis x', block.x_label));
  section.append(card);

  let emphasis = -1;
  const strength = (i) => (emphasis < 0 || emphasis === i ? 1 : 0.15);
  const margin = (block.x.high - block.x.low) * 0.012;
  const chart = new Chart(canvas, {
    type: 'line',
    data: {datasets: block.series.map((series) => dataset(block, series))},
    plugins: [bands, remarks],
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      parsing: false,
      interaction: {mode: 'nearest', axis: 'x', intersect: false},
      layout: {padding: {top: 8, right: 12}},
      scales: {
        x: {
          type: 'linear',
          min: block.x.low - margin,
          max: block.x.high + margin,
          grid: {drawOnChartArea: false},
          ticks: {maxRotation: 0, autoSkipPadding: 14, includeBounds: false, callback: (value) => numberText(value, false)},
        },
        y: {
          type: block.y.log ? 'logarithmic' : 'linear',
          min: block.y.low,
          max: block.y.high,
          grid: {drawTicks: false, drawBorder: false},
          afterDataLimits(scale) {
            if (!block.y.log) return;
            scale.min = 10 ** Math.floor(Math.log10(scale.min) + 1e-9);
            scale.max = Math.max(10 * scale.min, 10 ** Math.ceil(Math.log10(scale.max) - 1e-9));
          },
          afterBuildTicks: block.y.log ? powers : undefined,
          ticks: {padding: 8, maxTicksLimit: 8, autoSkip: !block.y.log, callback: (value) => numberText(value, block.percent)},
        },
      },
      plugins: {
        legend: {display: false},
        bands: {block, strength},
        remarks: {block},
        tooltip: {enabled: false, external: (context) => tipOfPoints(block, context)},
      },
    },
  });
  const restyle = () => {
    chart.data.datasets.forEach((set, i) => {
      set.ownColour = readable(block.series[i].colour);
      set.borderColor = set.pointBackgroundColor = faded(set.ownColour, strength(i));
      set.pointBorderColor = css('--surface');
      drawSwatch(swatches[i], set);
    });
    for (const axis of Object.values(chart.options.scales)) {
      axis.ticks.color = css('--quiet');
      axis.grid.color = css('--grid');
      axis.grid.borderColor = css('--line');
    }
    chart.update();
  };
  const {list, swatches} = legend(block, chart, (which) => {
    emphasis = which;
    restyle();
  });
  if (block.series.length) card.append(list);
  if (block.series.some((series) => series.intervals.length))
    card.append(element('p', 'note', `Shaded: ${block.band}.`));
  restyle();
  charts.push({chart, restyle});
}
