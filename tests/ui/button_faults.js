// What is wrong with the buttons that are on the screen: a contrast or a size that is too small, at rest, under the
// pointer, and with the focus. Those states are had by copies of the rules, put where the rules are, so that their
// order stays: `:hover` becomes `[data-state="hover"]`.
(isCoarse) => {
  const STATES = { hover: /:hover/g, focus: /:focus(-visible)?(?!-)/g };
  const copyRules = (rules, insert) => {
    for (let at = rules.length - 1; at >= 0; at -= 1) {
      const rule = rules[at];
      if (rule.cssRules && !rule.selectorText) copyRules(rule.cssRules, (text, place) => rule.insertRule(text, place));
      else for (const [state, found] of Object.entries(STATES)) {
        if (!rule.selectorText || !found.test(rule.selectorText)) continue;
        found.lastIndex = 0;
        insert(rule.cssText.replace(rule.selectorText, rule.selectorText.replace(found, `[data-state="${state}"]`)), at + 1);
      }
    }
  };
  if (!document.documentElement.dataset.copied) {
    document.documentElement.dataset.copied = "yes";
    for (const sheet of document.styleSheets) copyRules(sheet.cssRules, (text, place) => sheet.insertRule(text, place));
  }
  for (const each of document.getAnimations()) if (each.effect?.getComputedTiming().endTime !== Infinity) each.finish();

  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (color) => {
    if (!known.has(color)) {
      probe.clearRect(0, 0, 1, 1);
      probe.fillStyle = color;
      probe.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = probe.getImageData(0, 0, 1, 1).data;
      known.set(color, [red, green, blue, alpha / 255]);
    }
    return known.get(color);
  };
  const over = ([red, green, blue, alpha], below) => [red, green, blue].map((part, at) => part * alpha + below[at] * (1 - alpha));
  const faded = ([red, green, blue, alpha], opacity) => [red, green, blue, alpha * opacity];
  const behind = (element) => {
    if (element === null) return rgba(getComputedStyle(document.documentElement).getPropertyValue("--paper").trim());
    const { backgroundColor, opacity } = getComputedStyle(element);
    return over(faded(rgba(backgroundColor), Number(opacity)), behind(element.matches("dialog") ? null : element.parentElement));
  };
  const opacityOf = (element) => element === null ? 1 : Number(getComputedStyle(element).opacity) * opacityOf(element.parentElement);
  const light = (color) => {
    const [red, green, blue] = color.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [darker, lighter] = [light(one), light(other)].sort((a, b) => a - b);
    return (lighter + 0.05) / (darker + 0.05);
  };
  const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && element.getClientRects().length > 0;
  const isHidden = (element) => element.closest(".unseen, [inert], .skip") !== null;
  const textIn = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");

  const STANDARD = ".head .icon, .composer .icon, .round, .new-chat, .actions-menu button, .chat-row > a, .chats-pages a, .dialog-body .primary";
  const faults = [];
  const buttons = [...document.querySelectorAll("button, [role=button], summary, select, .chats-pages a, .chat-row > a, a.sign-in")]
    .filter((each) => isShown(each) && !isHidden(each) && (document.querySelector("dialog[open]")?.contains(each) ?? true));
  const nameOf = (each) => `${each.localName}.${each.className} ${(each.getAttribute("aria-label") ?? each.textContent ?? "").trim().slice(0, 40)}`;
  for (const state of ["rest", "hover", "focus"]) {
    for (const each of buttons) {
      if (state !== "rest") each.dataset.state = state;
      const parents = state === "hover" ? [each.closest(".chat-row")].filter(Boolean) : [];
      for (const parent of parents) parent.dataset.state = "hover";
      const least = each.disabled ? 3 : 4.5;
      for (const part of [each, ...each.querySelectorAll("*")]) {
        if (!isShown(part) || isHidden(part) || part.matches("option")) continue;
        const isIcon = part.localName === "svg";
        if (!isIcon && !textIn(part) && !(part === each && each.matches("select"))) continue;
        const ground = behind(isIcon ? part.parentElement : part);
        const ink = over(faded(rgba(getComputedStyle(part).color), opacityOf(part)), ground);
        const has = contrast(ink, ground), needs = isIcon ? (each.disabled ? 2 : 3) : least;
        if (has < needs - 0.01) faults.push(`${nameOf(each)}: ${state}${each.disabled ? ", disabled" : ""}: ${has.toFixed(2)} of ${needs}`);
      }
      if (state === "focus" && !each.disabled) {
        const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(each);
        const has = contrast(over(rgba(outlineColor), behind(each.parentElement)), behind(each.parentElement));
        if (outlineStyle === "none" || parseFloat(outlineWidth) < 2 || has < 3) faults.push(`${nameOf(each)}: no focus is seen (${outlineStyle} ${outlineWidth} ${has.toFixed(2)})`);
      }
      delete each.dataset.state;
      for (const parent of parents) delete parent.dataset.state;
    }
  }
  for (const each of buttons) {
    if (each.matches(".prose *")) continue; // a mark within a text is as high as its line
    const { width, height } = each.getBoundingClientRect();
    const least = isCoarse && each.matches(STANDARD) ? 44 : 24;
    if (height < least - 0.5 || width < 24 - 0.5) faults.push(`${nameOf(each)}: ${Math.round(width)} x ${Math.round(height)}, not ${least}`);
  }
  return [...new Set(faults)];
}
