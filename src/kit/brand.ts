// pure
declare const brand: unique symbol;

/** A `T` that only its parser may make, so that values of one form cannot be mixed up. */
export type Branded<T, B extends string> = T & { readonly [brand]: B };
