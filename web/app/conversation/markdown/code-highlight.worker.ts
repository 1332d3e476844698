import { highlighted } from "./code-highlight";
import { serve } from "./worker-queue";

serve(self, ({ code, language }: { code: string; language: string }) => highlighted(code, language));
