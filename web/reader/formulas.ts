import { formula } from "../app/conversation/markdown/chemistry";
import { parts } from "./parts";

parts.formula = formula;
