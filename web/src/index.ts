/** Encrypted inference for JavaScript. The secret never leaves the browser. */

export { type ConnectOptions, forgetSecret, hasSecret, PalladionClient, type Prediction, type Progress, type WorkOptions } from "./client.js";
export { Ends, type Integers, type Output } from "./ends.js";
export { type Decrypted, Engine, type EngineApi, type KeyFile, type KeyProgress, type SecretFile } from "./engine.js";
export { type Kind, PalladionError } from "./errors.js";
export type { EndsData, Facts } from "./facts.js";
export type { Connection } from "./http.js";
export { digitOf, pictureOf, type Pixels } from "./pictures.js";
export { type Job, type ModelData, type ModelName, Service } from "./service.js";
export { memoryStore, openStore, type Store } from "./store.js";
export { WorkerEngine } from "./worker-engine.js";
