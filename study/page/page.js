// Builds the page from the JSON of #page-data. Every text goes in as text, never as markup.

function element(tag, name = '', text = '') {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== '') made.textContent = text;
  return made;
}

// Holds what may be wider than the page; can be scrolled with the keyboard as well.
function scroller(label) {
  const box = element('div', 'scroll');
  box.tabIndex = 0;
  box.setAttribute('role', 'region');
  if (label) box.setAttribute('aria-label', label);
  return box;
}

function showTip(x, y, fill) {
  const tip = document.getElementById('tip');
  tip.replaceChildren();
  fill(tip);
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  const space = document.documentElement.clientWidth;
  const left = x + 14 + width > space - 8 ? x - 14 - width : x + 14;
  const top = y - height - 12 < 8 ? y + 16 : y - height - 12;
  tip.style.left = `${Math.max(8, Math.min(left, space - 8 - width))}px`;
  tip.style.top = `${Math.max(8, Math.min(top, innerHeight - 8 - height))}px`;
}

function hideTip() {
  document.getElementById('tip').hidden = true;
}

function drawText(section, block) {
  for (const paragraph of block.text.split(/\n\s*\n/))
    if (paragraph.trim()) section.append(element('p', 'paragraph', paragraph.trim()));
}

function drawTable(section, block) {
  if (!block.columns.length) return void section.append(element('p', 'empty', 'no columns'));
  const card = element('div', 'card table');
  const table = element('table');
  const line = (tag, texts) => {
    const row = element('tr');
    texts.forEach((text, k) => {
      const cell = element(tag, block.numbers[k] ? 'number' : '');
      if (tag === 'th') cell.scope = 'col';
      cell.append(element('div', tag === 'td' && text.length > 24 ? 'long' : '', text));
      row.append(cell);
    });
    return row;
  };
  const head = element('thead');
  head.append(line('th', block.columns));
  const body = element('tbody');
  body.append(...block.rows.map((row) => line('td', row)));
  table.append(head, body);
  const box = scroller(block.title);
  box.append(table);
  card.append(box);
  section.append(card);
  if (!block.rows.length) section.append(element('p', 'empty', 'no rows'));
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Where the clipboard is closed to pages: a selection and the old command.
    const area = element('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

function drawCode(section, block) {
  const card = element('div', 'card code');
  const box = scroller(block.title);
  const code = element('pre');
  code.append(element('code', '', block.code));
  box.append(code);
  const button = element('button', 'copy', 'Copy');
  button.type = 'button';
  button.addEventListener('click', async () => {
    await copy(block.code);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), 1500);
  });
  card.append(box, button);
  section.append(card);
}

const drawers = {text: drawText, curves: drawCurves, table: drawTable, heatmaps: drawHeatmaps, code: drawCode};

function drawBlock(main, block, i, page) {
  const section = element('section');
  section.dataset.kind = block.kind;
  section.id = `block-${i + 1}`;
  main.append(section);
  let inside = section;
  const title = block.title || (block.folded ? 'Code' : '');
  if (block.folded) {
    inside = element('details');
    const summary = element('summary');
    summary.append(element('h2', '', title));
    inside.append(summary);
    section.append(inside);
  } else if (title) {
    section.append(element('h2', '', title));
  }
  if (block.subtitle) inside.append(element('p', 'subtitle', block.subtitle));
  drawers[block.kind](inside, block, page);
  if (block.note) inside.append(element('p', 'note', block.note));
}

function drawHeader(main, page) {
  const header = element('header');
  header.append(element('h1', '', page.title));
  if (page.subtitle) header.append(element('p', 'subtitle', page.subtitle));
  const titled = page.blocks.map((block, i) => [block.title, i]).filter(([title]) => title);
  if (titled.length >= 4) {
    const contents = element('nav');
    contents.setAttribute('aria-label', 'Contents');
    for (const [title, i] of titled) {
      const link = element('a', '', title);
      link.href = `#block-${i + 1}`;
      contents.append(link);
    }
    header.append(contents);
  }
  main.append(header);
}

const darkScheme = matchMedia('(prefers-color-scheme: dark)');
const darkNow = () => darkScheme.matches && document.documentElement.dataset.scheme !== 'light';

function restyleAll() {
  for (const {restyle} of charts) restyle();
  for (const draw of maps) draw();
}

function start() {
  const page = JSON.parse(document.getElementById('page-data').textContent);
  const main = document.getElementById('page');
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 12;
  drawHeader(main, page);
  page.blocks.forEach((block, i) => drawBlock(main, block, i, page));
  darkScheme.addEventListener('change', restyleAll);
  // Paper is light, and as wide as it is.
  addEventListener('beforeprint', () => {
    document.documentElement.dataset.scheme = 'light';
    restyleAll();
    for (const {chart} of charts) chart.resize();
  });
  addEventListener('afterprint', () => {
    delete document.documentElement.dataset.scheme;
    restyleAll();
    for (const {chart} of charts) chart.resize();
  });
  addEventListener('scroll', hideTip, {passive: true});
  window.lookbackReady = true;
  document.documentElement.dataset.ready = '';
}

start();
