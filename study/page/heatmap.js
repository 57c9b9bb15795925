// Maps of weights: a table of coloured cells, source tokens along the top, target tokens down the side.

const maps = [];  // a function of every map that draws it anew

const token = (text) => (text.trim() === '' ? '\u2423'.repeat(Math.max(1, text.length)) : text);

function mixed(stops, share) {
  const at = Math.max(0, Math.min(1, share)) * (stops.length - 1);
  const below = Math.min(Math.floor(at), stops.length - 2);
  const [from, to] = [channels(stops[below]), channels(stops[below + 1])];
  return from.map((c, k) => Math.round(c + (to[k] - c) * (at - below)));
}

// Two digits, as short as they go: .42, 1, -3.1
function cellText(value) {
  if (Math.abs(value) >= 0.995) return String(Number(value.toPrecision(2)));
  const text = value.toFixed(2).replace('-0.00', '0.00');
  return text === '0.00' ? '0' : text.replace('0.', '.');
}

function mapTable(map, stops, width) {
  const measure = document.createElement('canvas').getContext('2d');
  measure.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const widest = (tokens) => Math.max(0, ...tokens.map((text) => measure.measureText(token(text)).width));
  const side = Math.min(widest(map.rows), 152, innerWidth * 0.3) + 12;
  const room = Math.floor((width - side) / map.columns.length) - 1;
  const cell = Math.max(16, Math.min(38, room));
  const table = element('table', 'grid');
  table.style.setProperty('--cell', `${cell}px`);
  if (cell >= 30) table.classList.add('numbered');
  const turned = widest(map.columns) > cell;
  if (turned) table.classList.add('turned');

  const head = element('thead');
  if (map.column_label) {
    const row = element('tr');
    const along = element('th', 'along', `${map.column_label} \u2192`);
    along.colSpan = map.columns.length;
    row.append(element('td', 'corner'), along);
    head.append(row);
  }
  const names = element('tr');
  const corner = element('th', 'corner');
  corner.append(element('div', '', map.row_label ? `${map.row_label} \u2193` : ''));
  names.append(corner);
  for (const text of map.columns) {
    const name = element('th', 'column');
    name.scope = 'col';
    name.title = text;
    const words = element('div', '', token(text));
    words.dir = 'auto';
    name.append(words);
    names.append(name);
  }
  head.append(names);

  const body = element('tbody');
  const {high, diverging} = map.scale;
  map.values.forEach((values, i) => {
    const row = element('tr');
    const name = element('th', 'row');
    name.scope = 'row';
    name.title = map.rows[i];
    const words = element('div', '', token(map.rows[i]));
    words.dir = 'auto';
    name.append(words);
    row.append(name);
    values.forEach((value, k) => {
      const square = element('td', value === null ? 'none' : '', value === null ? '' : cellText(value));
      square.dataset.row = i;
      square.dataset.column = k;
      if (value !== null) {
        const rgb = mixed(stops, diverging ? (value / high + 1) / 2 : value / high);
        square.style.background = `rgb(${rgb.join(', ')})`;
        const ink = luminance(rgb) > 0.25 ? '#1a1a1a' : '#ffffff';
        square.style.color = square.textContent === '0' ? faded(ink, 0.35) : ink;
      }
      row.append(square);
    });
    body.append(row);
  });
  table.append(head, body);
  return table;
}

// The value under the pointer, and its two tokens in bold.
function follow(table, map) {
  let marked = [];
  const leave = () => {
    for (const one of marked) one.classList.remove('on');
    marked = [];
    hideTip();
  };
  table.addEventListener('pointermove', (event) => {
    const square = event.target.closest('td[data-row]');
    leave();
    if (!square) return;
    const {row, column} = square.dataset;
    const value = map.values[row][column];
    marked = [square, table.querySelectorAll('th.row')[row], table.querySelectorAll('th.column')[column]];
    for (const one of marked) one.classList.add('on');
    showTip(event.clientX, event.clientY, (tip) => {
      const text = value === null ? 'no value' : numberText(value, false);
      tip.append(element('div', '', `${token(map.rows[row])}, ${token(map.columns[column])}: ${text}`));
    });
  });
  table.addEventListener('pointerdown', (event) => {
    event.target.dispatchEvent(new PointerEvent('pointermove', event));
  });
  table.addEventListener('pointerleave', leave);
}

function key(map, stops) {
  const line = element('div', 'key');
  const bar = element('span', 'bar');
  bar.style.background = `linear-gradient(to right, ${stops.join(', ')})`;
  const end = (value) => element('span', '', numberText(value, false));
  line.append(end(map.scale.low), bar, end(map.scale.high));
  if (map.values.some((row) => row.includes(null))) line.append(element('span', 'none'), element('span', '', 'no value'));
  return line;
}

function drawHeatmaps(section, block, colours) {
  const card = element('figure', 'card heatmap');
  section.append(card);
  if (!block.maps.length) return void card.append(element('p', 'empty', 'no map'));
  let chosen = 0;
  const holder = scroller(block.title);
  const legendLine = element('div');
  const draw = () => {
    const map = block.maps[chosen];
    const stops = colours[map.scale.diverging ? 'diverging' : 'sequential'][darkNow() ? 'dark' : 'light'];
    const empty = !map.rows.length || !map.columns.length;
    const content = empty ? element('p', 'empty', 'no data') : mapTable(map, stops, holder.clientWidth);
    holder.replaceChildren(content);
    legendLine.replaceChildren(...(empty ? [] : [key(map, stops)]));
    if (!empty) follow(content, map);
  };
  if (block.maps.length > 1) {
    const choice = element('label', 'choice', 'Map');
    const menu = element('select');
    block.maps.forEach((map, i) => {
      const option = element('option', '', map.name || `map ${i + 1}`);
      option.value = i;
      menu.append(option);
    });
    menu.addEventListener('change', () => {
      chosen = Number(menu.value);
      draw();
    });
    choice.append(menu);
    card.append(choice);
  } else if (block.maps[0].name) {
    card.append(element('p', 'choice', block.maps[0].name));
  }
  card.append(holder, legendLine);
  draw();
  let width = holder.clientWidth;
  new ResizeObserver(() => {
    if (holder.clientWidth === width) return;
    width = holder.clientWidth;
    draw();
  }).observe(holder);
  maps.push(draw);
}
