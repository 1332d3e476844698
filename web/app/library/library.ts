// Which dialog of the saved prompts is open: from the palette, from the list behind a slash.

import { createStore } from "../store";

export const library = createStore<{ readonly isOpen: boolean }>({ isOpen: false });
