// What happened in the session on the screen: its events are in the page's state.

export interface InspectorProps {
  readonly session: string;
  readonly onClose: () => void;
}

export function Inspector({ session }: InspectorProps) {
  return <section data-session={session} />;
}
