import { parse } from "./parse";
import { serve } from "./workshop";

serve(self, ({ source, context }: { source: string; context: string }) => parse(source, context));
