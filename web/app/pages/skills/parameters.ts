// What a skill is called with, as its JSON Schema says.

export interface Parameter {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly isRequired: boolean;
}

type Known = Readonly<Record<string, unknown>>;

// The parameters of `metadata.parameters`; none where it has none that can be read.
export function parametersOf(metadata: Known): Parameter[] {
  const schema = asObject(metadata.parameters);
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(asObject(schema.properties)).map(([name, given]) => {
    const { type, description, enum: choices } = asObject(given);
    const names = Array.isArray(type) ? type : [type];
    return {
      name,
      type: Array.isArray(choices) ? choices.map((each) => JSON.stringify(each)).join(" | ") : names.filter((each) => typeof each === "string").join(" | "),
      description: typeof description === "string" ? description : "",
      isRequired: required.includes(name),
    };
  });
}

// Arguments to begin with: each required parameter with a value of its type.
export function exampleOf(metadata: Known): Record<string, unknown> {
  const schema = asObject(metadata.parameters);
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = Object.entries(asObject(schema.properties)).filter(([name]) => required.includes(name));
  return Object.fromEntries(properties.map(([name, given]) => [name, valueOf(asObject(given))]));
}

function valueOf({ type, default: usual, enum: choices, examples }: Known): unknown {
  if (usual !== undefined) return usual;
  if (Array.isArray(examples) && examples.length > 0) return examples[0] as unknown;
  if (Array.isArray(choices)) return choices[0] as unknown;
  const [first] = Array.isArray(type) ? type as unknown[] : [type];
  const values: Known = { string: "", integer: 0, number: 0, boolean: false, array: [], object: {} };
  return typeof first === "string" ? values[first] ?? null : null;
}

function asObject(value: unknown): Known {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Known : {};
}
