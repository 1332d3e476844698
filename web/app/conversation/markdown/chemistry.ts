/** Formulas with `\\ce` and `\\pu` of mhchem. */

import "katex/contrib/mhchem";

export { formula } from "./math";
