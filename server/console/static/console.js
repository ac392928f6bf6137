// The console works without this script. With it, the live part of a page is replaced when it changes, times stay current, and keys work.
'use strict';
(() => {
  const $ = (id) => document.getElementById(id);
  const skew = document.body.dataset.now ? Date.parse(document.body.dataset.now) - Date.now() : 0;

  // Times. The server writes them as of the page; they are written again each second.
  function span(ms) {
    const s = Math.floor(Math.abs(ms) / 1000);
    const two = (large, unit, small, smallUnit) => large + ' ' + unit + (small ? ' ' + small + ' ' + smallUnit : '');
    if (s < 60) return s + ' s';
    if (s < 3600) return two(Math.floor(s / 60), 'min', s % 60, 's');
    if (s < 86400) return two(Math.floor(s / 3600), 'h', Math.floor(s / 60) % 60, 'min');
    return two(Math.floor(s / 86400), 'd', Math.floor(s / 3600) % 24, 'h');
  }
  function tick() {
    const now = Date.now() + skew;
    for (const t of document.querySelectorAll('time[data-relative]')) {
      const age = now - Date.parse(t.dateTime);
      const text = age < 0 ? 'in ' + span(age) : span(age) + ' ago';
      if (t.textContent !== text) t.textContent = text;
    }
  }
  if (document.querySelector('time[data-relative]') || $('live')) { tick(); setInterval(tick, 1000); }

  // Live updates. A hidden tab closes its stream: browsers have few connections to a host, and nobody looks.
  const live = $('live'), stale = $('stale'), connection = $('connection'), pause = $('pause');
  let version = live && live.dataset.version, source = null, paused = false, failedSince = 0;

  // describe names an element so that its successor can be found in the new content.
  function describe(el) {
    if (!el || el === document.body || !live.contains(el)) return null;
    if (el.id) return '#' + CSS.escape(el.id);
    const href = el.getAttribute('href');
    return href ? 'a[href="' + CSS.escape(href) + '"]' : null;
  }
  function replace(html) {
    const focused = describe(document.activeElement);
    const open = new Set([...live.querySelectorAll('details[open][id]')].map((d) => d.id));
    const rows = new Map([...live.querySelectorAll('tr[id]')].map((r) => [r.id, r.textContent]));
    const scrolled = new Map([...live.querySelectorAll('.table')].map((t, i) => [i, t.scrollLeft]));
    const fresh = new DOMParser().parseFromString(html, 'text/html');
    live.replaceChildren(...fresh.body.childNodes);
    for (const d of live.querySelectorAll('details[id]')) if (open.has(d.id)) d.open = true;
    live.querySelectorAll('.table').forEach((t, i) => { t.scrollLeft = scrolled.get(i) || 0; });
    tick();
    for (const r of live.querySelectorAll('tr[id]')) {
      if (rows.size && rows.get(r.id) === undefined) r.classList.add('changed');
    }
    if (focused) { const el = live.querySelector(focused); if (el) el.focus({preventScroll: true}); }
  }
  function says(text) { stale.hidden = !text; if (stale.textContent !== text) stale.textContent = text; }
  function connect() {
    if (source || paused || document.hidden || version === undefined) return;
    const url = new URL(location.href);
    url.hash = '';
    url.searchParams.set('_since', version);
    source = new EventSource(url);
    source.onopen = () => { failedSince = 0; connection.textContent = 'live'; says(''); };
    source.addEventListener('live', (e) => { version = e.lastEventId; says(''); connection.textContent = 'live'; replace(JSON.parse(e.data).html); });
    source.addEventListener('trouble', (e) => { says('These values are not current. ' + JSON.parse(e.data).says + ' Trying again.'); });
    source.onerror = () => {
      failedSince = failedSince || Date.now();
      connection.textContent = 'connecting again';
      if (source.readyState === EventSource.CLOSED) { // refused: logged out, or the replica is full
        disconnect();
        setTimeout(connect, 5000);
      }
      if (Date.now() - failedSince > 4000) says('These values are not current: the console does not answer, or your login has ended. Trying again; reload to log in.');
    };
  }
  function disconnect() { if (source) { source.close(); source = null; } }
  function togglePause() {
    paused = !paused;
    pause.setAttribute('aria-pressed', String(paused));
    pause.textContent = paused ? 'Resume' : 'Pause';
    if (paused) { disconnect(); connection.textContent = 'paused'; } else connect();
  }
  if (live && version !== undefined && window.EventSource) {
    pause.hidden = false;
    pause.addEventListener('click', togglePause);
    document.addEventListener('visibilitychange', () => document.hidden ? disconnect() : connect());
    addEventListener('pagehide', disconnect);
    addEventListener('pageshow', connect);
    connect();
  }

  // Ids are copied where the browser allows it: on pages by TLS, and on this machine.
  if (navigator.clipboard) {
    document.documentElement.classList.add('copies');
    document.addEventListener('click', async (e) => {
      const button = e.target.closest && e.target.closest('button[data-copy]');
      if (!button) return;
      try { await navigator.clipboard.writeText(button.dataset.copy); button.textContent = 'Copied'; } catch { button.textContent = 'Not allowed'; }
      setTimeout(() => { button.textContent = 'Copy id'; }, 1500);
    });
  }

  // Theme: the server reads the cookie, so that a page never flashes in the other one.
  const theme = $('theme');
  const dark = () => document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  const label = () => { theme.textContent = dark() ? 'Light' : 'Dark'; theme.title = 'Change to ' + theme.textContent.toLowerCase() + ' colours'; };
  function toggleTheme() {
    const to = dark() ? 'light' : 'dark';
    document.documentElement.dataset.theme = to;
    document.cookie = 'director-theme=' + to + '; path=/; max-age=31536000; samesite=lax' + (location.protocol === 'https:' ? '; secure' : '');
    label();
  }
  if (theme) { theme.hidden = false; label(); theme.addEventListener('click', toggleTheme); }

  // Keys. They do nothing while something is typed.
  const help = $('help'), keys = $('keys');
  if (keys) { keys.hidden = false; keys.addEventListener('click', () => help.showModal()); }
  let went = 0; // when g was pressed
  addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) || !help) return;
    if (Date.now() - went < 1500) {
      went = 0;
      const link = document.querySelector('.side a[data-key="' + CSS.escape(e.key) + '"]');
      if (link) { e.preventDefault(); location.assign(link.href); }
      return;
    }
    switch (e.key) {
      case '/': e.preventDefault(); $('find').focus(); break;
      case '?': help.showModal(); break;
      case 'g': went = Date.now(); break;
      case 'p': if (pause && !pause.hidden) togglePause(); break;
      case 'n': document.querySelector('.more a')?.click(); break;
      case 't': toggleTheme(); break;
    }
  });

  // Forms are sent once. Filters apply when a choice is made.
  for (const form of document.querySelectorAll('form[method="post"]')) {
    form.addEventListener('submit', () => setTimeout(() => { for (const b of form.querySelectorAll('button')) b.disabled = true; }));
  }
  addEventListener('pageshow', (e) => { if (e.persisted) for (const b of document.querySelectorAll('form button')) b.disabled = false; });
  for (const select of document.querySelectorAll('.filters select')) select.addEventListener('change', () => select.form.requestSubmit());

  // A link to /login#token=… fills in the token. What follows # never reaches a server or its log.
  const login = $('login');
  if (login && location.hash.startsWith('#token=')) {
    $('token').value = decodeURIComponent(location.hash.slice(7));
    history.replaceState(null, '', location.pathname + location.search);
    login.requestSubmit();
  }
})();
