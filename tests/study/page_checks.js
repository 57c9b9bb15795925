// Looks at report.html in frames of a phone's and a laptop's width and writes what it found, for
// browser_test.cpp to compare with what was put in: JSON, percent-encoded, in <html data-result>.

const widths = [360, 1280];

// What is seen of a rectangle inside the boxes that clip it.
function clipped(node, rect) {
  let {left, right, top, bottom} = rect;
  for (let at = node.parentElement; at; at = at.parentElement) {
    const style = at.ownerDocument.defaultView.getComputedStyle(at);
    if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
    if (at === at.ownerDocument.documentElement || at === at.ownerDocument.body) continue;
    const box = at.getBoundingClientRect();
    left = Math.max(left, box.left);
    right = Math.min(right, box.right);
    top = Math.max(top, box.top);
    bottom = Math.min(bottom, box.bottom);
  }
  return {left, right, top, bottom};
}

// Pairs of texts that cover each other, and texts that stand out of the page.
function collisions(frame) {
  const doc = frame.contentDocument;
  const walker = doc.createTreeWalker(doc.body, NodeFilter.SHOW_TEXT);
  const seen = [];
  const wrong = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.textContent.trim() || node.parentElement.closest('script, noscript, option, #tip')) continue;
    if (node.parentElement.closest('details:not([open])') && !node.parentElement.closest('summary')) continue;
    if (frame.contentWindow.getComputedStyle(node.parentElement).fontSize === '0px') continue;
    const range = doc.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const box = clipped(node, rect);
      if (box.right - box.left < 1 || box.bottom - box.top < 1) continue;
      seen.push({node, box});
      if (box.left < -1 || box.right > frame.clientWidth + 1) wrong.push(`outside: ${node.textContent.slice(0, 40)}`);
    }
  }
  for (let i = 0; i < seen.length; ++i) {
    for (let k = 0; k < i; ++k) {
      if (seen[i].node === seen[k].node) continue;
      const [a, b] = [seen[i].box, seen[k].box];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // Boxes of lines are a little taller than their letters.
      if (across > 1.5 && down > 4)
        wrong.push(`${seen[k].node.textContent.slice(0, 40)} | ${seen[i].node.textContent.slice(0, 40)}`);
    }
  }
  return wrong;
}

// Tick labels that touch each other.
function crowdedTicks(chart) {
  const wrong = [];
  chart.ctx.font = `12px ${chart.options.font?.family || 'sans-serif'}`;
  for (const scale of [chart.scales.x, chart.scales.y]) {
    let end = -Infinity;
    const ticks = scale.ticks
      .map((tick, i) => ({label: tick.label, at: scale.getPixelForTick(i)}))
      .filter((tick) => tick.label)
      .sort((a, b) => a.at - b.at);
    for (const {label, at} of ticks) {
      const half = scale.axis === 'x' ? chart.ctx.measureText(label).width / 2 : 6;
      if (at - half < end + 2) wrong.push(`${scale.axis}: ${label}`);
      end = at + half;
    }
    if (!ticks.length) wrong.push(`${scale.axis} has no tick`);
  }
  return wrong;
}

// How much of a canvas is drawn on, per mille.
function inked(canvas) {
  const copy = document.createElement('canvas');
  copy.width = canvas.width;
  copy.height = canvas.height;
  const ctx = copy.getContext('2d', {willReadFrequently: true});
  ctx.drawImage(canvas, 0, 0);
  const {data} = ctx.getImageData(0, 0, copy.width, copy.height);
  let count = 0;
  for (let i = 3; i < data.length; i += 4) count += data[i] > 0;
  return Math.round((count / (data.length / 4)) * 1000);
}

// The share of intervals that a band is drawn on, half-way from the value to the upper end.
function bandShare(chart, series) {
  const scale = chart.currentDevicePixelRatio;
  const copy = document.createElement('canvas');
  copy.width = chart.canvas.width;
  copy.height = chart.canvas.height;
  const ctx = copy.getContext('2d', {willReadFrequently: true});
  ctx.drawImage(chart.canvas, 0, 0);
  const seen = series.intervals.map(([, high], k) => {
    const [x, y] = series.points[k];
    const at = chart.scales.y.getPixelForValue((y + high) / 2);
    return ctx.getImageData(Math.round(chart.scales.x.getPixelForValue(x) * scale), Math.round(at * scale), 1, 1).data[3] > 0;
  });
  return seen.length ? seen.filter(Boolean).length / seen.length : 1;
}

const moment = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// Chart.js answers a pointer with the next frame.
async function until(holds) {
  for (let waited = 0; waited < 1500 && !holds(); waited += 50) await moment(50);
}

async function chartFindings(frame, canvas, series) {
  const window = frame.contentWindow;
  const chart = window.Chart.getChart(canvas);
  const card = canvas.closest('.curves');
  const box = canvas.getBoundingClientRect();
  const tip = frame.contentDocument.getElementById('tip');
  canvas.dispatchEvent(new window.MouseEvent('mousemove', {clientX: box.left + box.width * 0.6, clientY: box.top + box.height / 2, bubbles: true}));
  await until(() => !tip.hidden);
  const tipBox = tip.getBoundingClientRect();
  const found = {
    tip: tip.hidden ? '' : tip.textContent,
    tipOutside: !tip.hidden && (tipBox.left < 0 || tipBox.right > frame.clientWidth),
    points: chart.data.datasets.map((set) => set.data.map(({x, y}) => [x, Number.isNaN(y) ? null : y])),
    colours: chart.data.datasets.map((set) => set.ownColour),
    names: [...card.querySelectorAll('.legend .name')].map((name) => name.textContent),
    crowded: crowdedTicks(chart),
    yLabels: chart.scales.y.ticks.map((tick) => tick.label),
    inked: inked(canvas),
    bands: series.map((one) => bandShare(chart, one)),
    sizeFits: box.width <= frame.clientWidth && box.height > 200,
  };
  canvas.dispatchEvent(new window.MouseEvent('mouseout', {bubbles: true}));
  await until(() => tip.hidden);
  found.tipLeft = !tip.hidden;
  const buttons = card.querySelectorAll('.legend button');
  if (buttons.length > 1) {
    const high = chart.scales.y.max;
    const all = inked(canvas);
    buttons[0].click();
    found.hides = !chart.isDatasetVisible(0) && buttons[0].getAttribute('aria-pressed') === 'false';
    buttons[0].click();
    found.showsAgain = chart.isDatasetVisible(0) && chart.scales.y.max === high && inked(canvas) === all;
  }
  return found;
}

function mapFindings(frame, card) {
  const window = frame.contentWindow;
  const menu = card.querySelector('select');
  const found = {choices: menu ? [...menu.options].map((option) => option.textContent) : [], maps: []};
  for (let i = 0; i < Math.max(1, found.choices.length); ++i) {
    if (menu) {
      menu.value = String(i);
      menu.dispatchEvent(new window.Event('change'));
    }
    const table = card.querySelector('table.grid');
    if (!table) {
      found.maps.push(null);
      continue;
    }
    const squares = [...table.querySelectorAll('td[data-row]')];
    for (const name of table.querySelectorAll('th'))  // has no value to show
      name.dispatchEvent(new window.PointerEvent('pointermove', {bubbles: true}));
    const tips = squares.slice(0, 400).map((square) => {
      const box = square.getBoundingClientRect();
      square.dispatchEvent(new window.PointerEvent('pointermove', {clientX: box.left + 2, clientY: box.top + 2, bubbles: true}));
      return frame.contentDocument.getElementById('tip').textContent;
    });
    table.dispatchEvent(new window.PointerEvent('pointerleave'));
    found.maps.push({
      rows: [...table.querySelectorAll('th.row')].map((name) => name.title),
      columns: [...table.querySelectorAll('th.column')].map((name) => name.title),
      texts: squares.map((square) => square.textContent),
      colours: squares.map((square) => square.style.background),
      tips,
      tipLeft: !frame.contentDocument.getElementById('tip').hidden,
      square: squares[0].getBoundingClientRect().width,
      tall: squares[0].getBoundingClientRect().height,
      collisions: collisions(frame),
      overflow: frame.contentDocument.scrollingElement.scrollWidth - frame.clientWidth,
    });
  }
  return found;
}

async function findings(frame) {
  const {contentWindow: window, contentDocument: doc} = frame;
  const all = (selector) => [...doc.querySelectorAll(selector)];
  const root = doc.documentElement;
  const charts = [];
  const drawn = JSON.parse(doc.getElementById('page-data').textContent).blocks.filter(({kind}) => kind === 'curves');
  for (const [i, canvas] of all('.plot canvas').entries())
    charts.push(await chartFindings(frame, canvas, drawn[i].series));
  return {
    width: frame.clientWidth,
    ready: window.lookbackReady === true && 'ready' in root.dataset,
    overflow: doc.scrollingElement.scrollWidth - frame.clientWidth,
    collisions: collisions(frame),
    title: doc.title,
    images: doc.images.length,
    loads: window.performance.getEntriesByType('resource').map((entry) => entry.name),
    paper: window.getComputedStyle(doc.body).backgroundColor,
    text: doc.getElementById('page').textContent,
    tables: all('.table table').map((table) => ({
      cells: [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent)),
      flushRight: [...(table.rows[1]?.cells || [])].map((cell) => window.getComputedStyle(cell).textAlign === 'right'),
    })),
    charts,
    heatmaps: all('.card.heatmap').map((card) => mapFindings(frame, card)),
    codes: all('pre code').map((code) => code.textContent),
    folded: all('details').map((details) => details.open),
  };
}

// Light for paper, and back: what the plots' first colour is before, while and after.
function printing(frame) {
  const {contentWindow: window, contentDocument: doc} = frame;
  const canvas = doc.querySelector('.plot canvas');
  if (!canvas) return [];
  const state = () => [window.Chart.getChart(canvas).data.datasets[0]?.ownColour, window.getComputedStyle(doc.body).color];
  const before = state();
  window.dispatchEvent(new Event('beforeprint'));
  const during = state();
  window.dispatchEvent(new Event('afterprint'));
  return [before, during, state()];
}

async function copied(frame) {
  const button = frame.contentDocument.querySelector('.copy');
  if (!button) return '';
  button.click();
  await moment(300);
  return button.textContent;
}

addEventListener('load', async () => {
  const result = [];
  for (const width of widths) {
    const frame = document.createElement('iframe');
    frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
    frame.src = 'report.html';
    const loaded = new Promise((done) => frame.addEventListener('load', done));
    document.body.append(frame);
    await loaded;
    await moment(100);
    result.push({...(await findings(frame)), printing: printing(frame), copied: await copied(frame)});
  }
  document.documentElement.dataset.result = encodeURIComponent(JSON.stringify(result));
});
