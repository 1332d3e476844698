import { coloured } from "./colours";
import { serve } from "./workshop";

serve(self, ({ code, language }: { code: string; language: string }) => coloured(code, language));
