import { formula } from "./math";
import { serve } from "./workshop";

serve(self, ({ source, isBlock }: { source: string; isBlock: boolean }) => formula(source, isBlock));
