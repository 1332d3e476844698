import { parse } from "./parse";
import { serve } from "./worker-queue";

serve(self, ({ source, context }: { source: string; context: string }) => parse(source, context));
