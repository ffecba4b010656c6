// What is asked of a page, in a world of its own: the page's scripts see none of it,
// and what they have done to the built-in objects does not count here.
function (name, ...args) {
  const clean = (text) => (text || '').replace(/\s+/g, ' ').trim();
  const said = (el) => clean(el.innerText || el.value || el.getAttribute('aria-label') || el.getAttribute('title') || el.getAttribute('alt'));
  const shown = (el) => {
    const box = el.getBoundingClientRect();
    const style = getComputedStyle(el);
    return box.width > 0 && box.height > 0 && style.visibility !== 'hidden';
  };

  // A page is several trees: its document, those behind elements that are made of
  // others, and documents in frames of the same site. A frame of another site is a page
  // of its own.
  const inner = (el) => {
    if (el.shadowRoot) return el.shadowRoot;
    if (el.tagName !== 'IFRAME' && el.tagName !== 'FRAME') return null;
    try { return el.contentDocument; } catch { return null; }
  };
  const hosts = (root) => [...root.querySelectorAll('*')].filter(inner);
  const trees = (root) => [root, ...hosts(root).flatMap((el) => trees(inner(el)))];
  const every = (selector) => trees(document).flatMap((root) => [...root.querySelectorAll(selector)]);
  const some = (selector) => {
    const found = [...document.querySelectorAll(selector)]; // there in most cases, and fast
    return found.length ? found : every(selector);
  };

  // The elements that a target names: by a selector, or by what one can read on them.
  const matching = ({selector, text}) => {
    if (selector) return some(selector);
    const clickable = 'a,button,summary,label,option,input[type=submit],input[type=button],input[type=reset],input[type=image],[role=button],[role=link],[role=tab],[role=menuitem],[onclick]';
    const wanted = clean(text);
    const lower = wanted.toLowerCase();
    const pool = every(clickable).filter(shown);
    for (const fits of [(t) => t === wanted, (t) => t.toLowerCase() === lower, (t) => t.toLowerCase().includes(lower)]) {
      const found = pool.filter((el) => fits(said(el)));
      if (found.length) return found;
    }
    return every('*').filter((el) => el.childElementCount === 0 && shown(el) && clean(el.innerText) === wanted);
  };
  const picked = ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'];
  const first = (target) => {
    const all = matching(target);
    return all.find(shown) || all[0];
  };

  // Where the window of an element begins, in that of the page.
  const corner = (el) => {
    let [x, y] = [0, 0];
    for (let w = el.ownerDocument.defaultView; w && w.frameElement; w = w.parent) {
      const box = w.frameElement.getBoundingClientRect();
      x += box.left + w.frameElement.clientLeft;
      y += box.top + w.frameElement.clientTop;
    }
    return {x, y};
  };

  // What a reader sees of an element. What is behind elements is not in innerText, so
  // they are walked through, in the order in which they are drawn.
  const drawn = (el) => {
    const below = new Set();
    for (const host of el.nodeType === Node.ELEMENT_NODE && inner(el) ? [el] : hosts(el)) {
      for (let up = host; up; up = up.parentNode) below.add(up);
    }
    const slotted = !!el.getRootNode().host; // what stands in a slot belongs to it
    if (!below.size && !slotted) return 'innerText' in el ? el.innerText : el.textContent || '';
    const walk = (node, whole) => {
      if (node.nodeType === Node.TEXT_NODE) return node.data.replace(/\s+/g, ' ');
      if (node.nodeType !== Node.ELEMENT_NODE) return '';
      const {display, visibility} = getComputedStyle(node);
      if (display === 'none') return '';
      if (node.tagName === 'BR') return '\n';
      const behind = inner(node);
      let text = '';
      if (behind && behind.nodeType === Node.DOCUMENT_NODE) text = drawn(behind.body || behind.documentElement);
      else if (behind) text = [...behind.childNodes].map((n) => walk(n, true)).join('');
      else if (node.tagName === 'SLOT' && node.assignedNodes().length) text = node.assignedNodes().map((n) => walk(n, false)).join('');
      else if (whole || below.has(node)) text = [...node.childNodes].map((n) => walk(n, whole)).join('');
      else if (visibility !== 'hidden') text = 'innerText' in node ? node.innerText : node.textContent || '';
      return display.startsWith('inline') || display === 'contents' ? text : '\n' + text + '\n';
    };
    return walk(el, slotted);
  };

  const valueOf = (el, attribute) => {
    if (!attribute) return 'innerText' in el ? drawn(el).trim() : clean(el.textContent);
    if ((attribute === 'href' || attribute === 'src' || attribute === 'value') && typeof el[attribute] === 'string') return el[attribute];
    return el.getAttribute(attribute);
  };

  // A list of texts up to a number of characters in all.
  const bounded = (limit) => {
    let left = limit;
    return (text) => (left -= (text || '').length + 4) >= 0;
  };

  const actions = {
    state() {
      const entry = performance.getEntriesByType('navigation')[0];
      return {url: location.href, title: document.title.slice(0, 1000), status: (entry && entry.responseStatus) || 0};
    },
    count: (target) => matching(target).length,
    place(target) {
      const el = first(target);
      if (!el) return {missing: true};
      el.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
      const box = [...el.getClientRects()].find((r) => r.width > 0 && r.height > 0);
      if (!box || !shown(el)) return {hidden: true};
      const from = corner(el);
      return {x: from.x + box.left + box.width / 2, y: from.y + box.top + box.height / 2};
    },
    focus(target, text) {
      const el = first(target);
      if (!el) return {missing: true};
      if (!shown(el) && !el.isContentEditable) return {hidden: true};
      if (el.disabled || el.readOnly) return {locked: true};
      const changed = () => ['input', 'change'].forEach((name) => el.dispatchEvent(new Event(name, {bubbles: true, composed: true})));
      if (el.tagName === 'SELECT') {
        const option = [...el.options].find((o) => o.value === text || clean(o.text) === clean(text));
        if (!option) return {options: [...el.options].slice(0, 50).map((o) => clean(o.text))};
        el.value = option.value;
        changed();
        el.focus();
        return {done: true};
      }
      const kind = el.tagName === 'INPUT' ? el.type : el.tagName === 'TEXTAREA' || el.isContentEditable ? 'text' : '';
      if (!['text', 'search', 'url', 'tel', 'email', 'password', 'number', ...picked].includes(kind)) return {unfit: true};
      el.focus();
      if (picked.includes(kind)) { // has parts that keys move between, or no keys at all
        el.value = text;
        if (el.value !== text && !(kind === 'color' && el.value === text.toLowerCase())) return {wants: kind};
        changed();
        return {done: true};
      }
      if (kind === 'number' && Number.isNaN(Number(text))) return {wants: kind};
      if (el.select) el.select();
      else el.ownerDocument.getSelection().selectAllChildren(el);
      return {};
    },
    extract(selector, attribute, all, limit) {
      const found = all ? every(selector) : some(selector).slice(0, 1);
      const fits = bounded(limit);
      const values = [];
      for (const el of found) {
        const value = valueOf(el, attribute);
        if (!fits(value)) return {over: true};
        values.push(value);
      }
      return {values};
    },
    links(limit) {
      const fits = bounded(limit);
      const links = [];
      for (const a of every('a[href], area[href]')) {
        if (!/^https?:/.test(a.href)) continue;
        const link = {text: said(a), url: a.href};
        if (!fits(link.text + link.url + '        ')) return {links, over: true};
        links.push(link);
      }
      return {links};
    },
    // What can be filled in or pressed, with a selector for each.
    fields(most) {
      const found = [];
      for (const el of every('input:not([type=hidden]),textarea,select,button,[contenteditable=true]')) {
        if (found.length >= most) break;
        if (!shown(el)) continue;
        const tag = el.tagName.toLowerCase();
        let selector = tag;
        if (el.id) selector = '#' + CSS.escape(el.id);
        else if (el.name) selector = tag + '[name=' + JSON.stringify(el.name) + ']';
        const index = some(selector).indexOf(el);
        const label = (el.labels && el.labels[0] && clean(el.labels[0].innerText)) || el.placeholder || said(el);
        found.push({kind: el.type || tag, label: clean(label).slice(0, 100), selector, unique: index === 0});
      }
      return found.filter((f) => f.unique).map(({kind, label, selector}) => ({kind, label, selector}));
    },
    text(selector, limit) {
      if (!/html|xml|text|json/.test(document.contentType)) return {kind: document.contentType};
      const el = selector ? some(selector)[0] : document.body || document.documentElement;
      if (!el) return {missing: true};
      const text = drawn(el).replace(/[ \t\u00a0]+\n/g, '\n').replace(/\n{3,}/g, '\n\n').trim();
      return {text: text.slice(0, limit), over: text.length > limit};
    },
  };
  return actions[name](...args);
}
