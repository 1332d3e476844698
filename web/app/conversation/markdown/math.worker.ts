import { formula } from "./math";
import { serve } from "./worker-queue";

serve(self, ({ source, isBlock }: { source: string; isBlock: boolean }) => formula(source, isBlock));
