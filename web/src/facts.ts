/** What a client's file says of its model. */

/** The meaning of the model's own arrays, as networks and programs store it: `docs/int-network.md`. */
export interface EndsData {
  readonly input: {
    readonly scale: number;
    readonly mean?: readonly number[];
    readonly std?: readonly number[];
  };
  readonly interface?: {
    readonly takes: {
      readonly name: string;
      readonly shape: readonly number[];
      readonly order?: readonly number[];
      readonly pixels?: { readonly mean: readonly number[]; readonly std: readonly number[] };
      readonly own_grid?: boolean;
      /** A model of ONNX in base64. */
      readonly head?: string;
      readonly batched?: boolean;
      readonly columns?: readonly string[];
    };
    readonly gives: {
      readonly name: string;
      readonly shape: readonly number[];
      readonly scale: readonly number[];
      readonly shift?: readonly number[];
      readonly labels?: readonly number[];
      /** A model of ONNX in base64. */
      readonly tail?: string;
      readonly batched?: boolean;
    };
    readonly warnings?: readonly string[];
  };
}

export interface Facts {
  readonly name: string;
  /** Largest number of inputs in one query. */
  readonly batch: number;
  /** Channels, rows, columns of an input of the network. */
  readonly shape: readonly [number, number, number];
  /** Smallest and largest integer of an input. */
  readonly range: readonly [number, number];
  /** Integers of an answer, for each input. */
  readonly outputs: number;
  readonly ends: EndsData | null;
  /** Number of evaluation keys. */
  readonly keys: number;
  readonly key_bytes: number;
  readonly program_id: string;
  readonly profile_id: string;
  readonly layout_id: string;
}
