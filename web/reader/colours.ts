import { highlighted } from "../app/conversation/markdown/code-highlight";
import { parts } from "./parts";

parts.highlighted = highlighted;
