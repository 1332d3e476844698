import { formula } from "./chemistry";
import { serve } from "./worker-queue";

serve(self, ({ source, isBlock }: { source: string; isBlock: boolean }) => formula(source, isBlock));
