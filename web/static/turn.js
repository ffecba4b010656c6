// Streams of logs. A browser has six connections to a server, for all its windows. Hidden windows close the streams of
// their logs; if too many are visible, some wait for their turn, so that there is always a connection for what a
// person does.

const slots = 3;

// turn calls begin as soon as a connection is free. begin returns a function that closes it. The result ends the turn.
export function turn(begin) {
  const waiting = new AbortController();
  let close;
  let release;
  const over = new Promise((done) => (release = done));
  const start = () => {
    if (close) return; // in another slot, or it is over
    waiting.abort();
    close = begin();
    return over;
  };
  if (navigator.locks) for (let i = 0; i < slots; i++) navigator.locks.request(`hocket log ${i}`, { signal: waiting.signal }, start).catch(() => {});
  else start(); // over a network without TLS, browsers have no locks
  return () => {
    waiting.abort();
    close?.();
    close ??= () => {};
    release();
  };
}
