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

  // The elements that a target names: by a selector, or by what one can read on them.
  const matching = ({selector, text}) => {
    if (selector) return [...document.querySelectorAll(selector)];
    const clickable = 'a,button,summary,label,option,input[type=submit],input[type=button],input[type=reset],input[type=image],[role=button],[role=link],[role=tab],[role=menuitem],[onclick]';
    const wanted = clean(text);
    const lower = wanted.toLowerCase();
    const pool = [...document.querySelectorAll(clickable)].filter(shown);
    for (const fits of [(t) => t === wanted, (t) => t.toLowerCase() === lower, (t) => t.toLowerCase().includes(lower)]) {
      const found = pool.filter((el) => fits(said(el)));
      if (found.length) return found;
    }
    return [...document.querySelectorAll('body *')].filter((el) => el.childElementCount === 0 && shown(el) && clean(el.innerText) === wanted);
  };
  const first = (target) => {
    const all = matching(target);
    return all.find(shown) || all[0];
  };

  const valueOf = (el, attribute) => {
    if (!attribute) return 'innerText' in el ? el.innerText.trim() : clean(el.textContent);
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
      return {x: box.left + box.width / 2, y: box.top + box.height / 2};
    },
    focus(target, text) {
      const el = first(target);
      if (!el) return {missing: true};
      if (!shown(el) && !el.isContentEditable) return {hidden: true};
      if (el.disabled || el.readOnly) return {locked: true};
      if (el instanceof HTMLSelectElement) {
        const option = [...el.options].find((o) => o.value === text || clean(o.text) === clean(text));
        if (!option) return {options: [...el.options].slice(0, 50).map((o) => clean(o.text))};
        el.value = option.value;
        el.dispatchEvent(new Event('input', {bubbles: true}));
        el.dispatchEvent(new Event('change', {bubbles: true}));
        el.focus();
        return {done: true};
      }
      if (!el.isContentEditable && !(el instanceof HTMLInputElement) && !(el instanceof HTMLTextAreaElement)) return {unfit: true};
      el.focus();
      if (el.select) el.select();
      else getSelection().selectAllChildren(el);
      return {};
    },
    extract(selector, attribute, all, limit) {
      const found = [...document.querySelectorAll(selector)];
      if (!all) found.length = Math.min(found.length, 1);
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
      for (const a of document.querySelectorAll('a[href], area[href]')) {
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
      for (const el of document.querySelectorAll('input:not([type=hidden]),textarea,select,button,[contenteditable=true]')) {
        if (found.length >= most) break;
        if (!shown(el)) continue;
        const tag = el.tagName.toLowerCase();
        let selector = tag;
        if (el.id) selector = '#' + CSS.escape(el.id);
        else if (el.name) selector = tag + '[name=' + JSON.stringify(el.name) + ']';
        const index = [...document.querySelectorAll(selector)].indexOf(el);
        const label = (el.labels && el.labels[0] && clean(el.labels[0].innerText)) || el.placeholder || said(el);
        found.push({kind: el.type || tag, label: clean(label).slice(0, 100), selector, unique: index === 0});
      }
      return found.filter((f) => f.unique).map(({kind, label, selector}) => ({kind, label, selector}));
    },
    text(selector, limit) {
      const el = selector ? document.querySelector(selector) : document.body || document.documentElement;
      if (!el) return {missing: true};
      const text = ('innerText' in el ? el.innerText : el.textContent || '').replace(/[ \t\u00a0]+\n/g, '\n').replace(/\n{3,}/g, '\n\n').trim();
      return {text: text.slice(0, limit), over: text.length > limit};
    },
  };
  return actions[name](...args);
}
