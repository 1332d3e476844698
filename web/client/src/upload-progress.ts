/** `fetch` for one upload that tells how far it is: `fetch` itself does not. `onProgress` is given the share that was
 * sent, 0 to 1. Only where there is XMLHttpRequest; elsewhere it is `fetch`. */
export function watchedFetch(onProgress: (share: number) => void): typeof fetch {
  if (typeof XMLHttpRequest === "undefined") return fetch;
  return (address, init = {}) => new Promise((resolve, reject) => {
    const { signal } = init;
    const request = new XMLHttpRequest();
    request.open(init.method ?? "GET", address instanceof Request ? address.url : address);
    new Headers(init.headers).forEach((value, name) => request.setRequestHeader(name, value));
    request.responseType = "blob";
    request.upload.onprogress = ({ lengthComputable, loaded, total }) => {
      if (lengthComputable) onProgress(loaded / total);
    };
    const abort = (): void => request.abort();
    signal?.addEventListener("abort", abort);
    request.onload = () => resolve(responseOf(request));
    request.onerror = () => reject(new TypeError("The upload failed."));
    request.onabort = () => reject(signal?.reason instanceof Error ? signal.reason : new DOMException("Aborted.", "AbortError"));
    request.onloadend = () => signal?.removeEventListener("abort", abort);
    if (signal?.aborted) reject(new DOMException("Aborted.", "AbortError"));
    else request.send(init.body as XMLHttpRequestBodyInit | null | undefined);
  });
}

function responseOf(request: XMLHttpRequest): Response {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().trim().split(/[\r\n]+/)) {
    const at = line.indexOf(":");
    if (at > 0) headers.append(line.slice(0, at), line.slice(at + 1).trim());
  }
  const isEmpty = [204, 205, 304].includes(request.status);
  return new Response(isEmpty ? null : request.response as Blob, { status: request.status, statusText: request.statusText, headers });
}
