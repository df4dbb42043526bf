//! What callers and the other party can get wrong.
