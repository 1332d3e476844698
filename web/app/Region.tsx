// A part of the page whose failure leaves the rest as it is.

import { Component, type ReactNode } from "react";

import { useWords } from "./state";
import { words as table } from "./frame-words";

interface Props {
  readonly name: string;
  readonly children: ReactNode;
}

interface State {
  readonly error: Error | null;
}

export class Region extends Component<Props, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return <Broken error={this.state.error} onAgain={() => this.setState({ error: null })} />;
  }
}

function Broken({ error, onAgain }: { readonly error: Error; readonly onAgain: () => void }) {
  const words = useWords(table);
  return (
    <div className="broken" role="alert">
      <p>{words.broken}</p>
      <pre>{error.message}</pre>
      <button type="button" className="small" onClick={onAgain}>{words.again}</button>
    </div>
  );
}
