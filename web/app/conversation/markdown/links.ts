const SCHEMES = /^(?:https?:\/\/|mailto:)/i;

/** `url` where a link may lead to it from a text of somebody else's; null for all others. */
export function linkTo(url: string): string | null {
  if (!SCHEMES.test(url) || !URL.canParse(url)) return null;
  const { protocol, href } = new URL(url);
  return protocol === "http:" || protocol === "https:" || protocol === "mailto:" ? href : null;
}
