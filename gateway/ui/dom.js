// The one way elements are made here: text is always text, never markup.

export function make(tag, className = "", ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

// A button that can be pressed once.
export function button(label, act) {
  const element = make("button", "small", label);
  element.type = "button";
  element.addEventListener("click", () => {
    element.disabled = true;
    act();
  });
  return element;
}

// Hands a file to the reader.
export function save(file, name) {
  const link = make("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser has begun to write it by then
}
