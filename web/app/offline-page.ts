// The page opens without a connection, too: a service worker keeps it (service-worker.js).

export function keepPageOffline(): void {
  if (!import.meta.env.PROD || !("serviceWorker" in navigator)) return; // there is none over plain HTTP
  const register = () => void navigator.serviceWorker.register("./service-worker.js").catch(() => undefined); // the page works without
  if (document.readyState === "complete") register();
  else addEventListener("load", register, { once: true });
}
