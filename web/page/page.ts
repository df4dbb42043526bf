/** The page: a service, a secret with its keys, an input, the answer. */

import { forgetSecret, hasSecret, PalladionClient, type Progress } from "../src/client.js";
import { PalladionError } from "../src/errors.js";
import { Service } from "../src/service.js";
import { openStore, type Store } from "../src/store.js";
import { WorkerEngine } from "../src/worker-engine.js";
import { showAnswer, type Times } from "./answer.js";
import { duration, element, show, size, write } from "./elements.js";
import { Input } from "./input.js";
import { clearProblem, showProblem } from "./problem.js";

const TOKEN = "palladion token";

const STEPS: Readonly<Record<Progress["step"], string>> = {
  "make keys": "Making the keys in this browser",
  "upload keys": "Sending the public keys to the service",
  encrypt: "Encrypting",
  queue: "Waiting for the service",
  compute: "The service computes on ciphertexts",
  decrypt: "Decrypting",
};

const url = new URL(".", location.href).href;
const token = element<HTMLInputElement>("token");
const models = element<HTMLSelectElement>("model");
const passphrase = element<HTMLInputElement>("passphrase");
const engine = new WorkerEngine(new Worker(new URL("worker.js", import.meta.url), { type: "module" }));
const input = new Input((ready) => {
  inputReady = ready;
  enableRun();
});

let client: PalladionClient | null = null;
let keysReady = false;
let inputReady = false;
let running: AbortController | null = null;

function enableRun(): void {
  element<HTMLButtonElement>("run").disabled = !(keysReady && inputReady) || running !== null;
}

/** Does some work at a time, with its form disabled and its errors shown. */
async function work(form: string, task: () => Promise<void>): Promise<void> {
  clearProblem();
  const controls = element(form).querySelectorAll<HTMLInputElement | HTMLSelectElement | HTMLButtonElement>("input, select, button");
  for (const control of controls) control.disabled = true;
  try {
    await task();
  } catch (error) {
    showProblem(error);
  } finally {
    for (const control of controls) control.disabled = control === models && models.options.length < 2;
  }
}

/** Shows the progress of some work under the name of its place: `keys` or `run`. */
function showProgress(place: string, { step, done, secondsLeft, ahead }: Progress): void {
  show(`${place}-work`);
  const others = ahead !== undefined && ahead > 0 ? `, ${ahead} before you` : "";
  write(`${place}-step`, `${STEPS[step]}${others}`);
  const bar = element<HTMLProgressElement>(`${place}-progress`);
  const known = step === "make keys" || step === "upload keys" || step === "compute";
  if (known) bar.value = done;
  else bar.removeAttribute("value");
  const left = secondsLeft === undefined ? "" : `, ${duration(secondsLeft)} left`;
  write(`${place}-left`, known ? `${Math.floor(100 * done)} %${left}` : left.slice(2));
}

/** The token in the address, as `palladion serve` prints it. It leaves the address at once. */
function tokenOfAddress(): string | null {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found !== null) history.replaceState(null, "", location.pathname + location.search);
  return found;
}

async function listModels(): Promise<void> {
  const names = await new Service({ url, token: token.value, tries: 1 }).models();
  if (names.length === 0) throw new PalladionError("data", "the service has no model yet: its operator puts programs into its folder");
  const before = models.value;
  models.replaceChildren(...names.map((name) => new Option(name, name, false, name === before)));
  models.disabled = names.length < 2;
}

async function connect(store: Store): Promise<void> {
  sessionStorage.setItem(TOKEN, token.value);
  keysReady = false;
  for (const section of ["secret-section", "input-section", "answer-section", "facts", "keys-done", "keys-work"]) show(section, false);
  if (models.options.length === 0) await listModels();
  client = await PalladionClient.connect({ url, token: token.value, model: models.value, engine, store });
  showFacts(client);
  await askSecret(store);
}

function showFacts({ data, facts, model }: PalladionClient): void {
  const seconds = data.parameters?.predicted_seconds;
  const rows: [string, string][] = [
    ["Model", `${facts.name}, version ${model.version}`],
    ["Program", facts.program_id.slice(0, 16)],
    ["Input", facts.shape.join(" x ")],
    ["Keys", `${size(facts.key_bytes)}, made once in this browser`],
  ];
  if (seconds !== undefined) rows.push(["One run", `about ${duration(seconds)}`]);
  const parts = rows.flatMap(([term, words]) => {
    const [name, value] = [document.createElement("dt"), document.createElement("dd")];
    [name.textContent, value.textContent] = [term, words];
    return [name, value];
  });
  element("facts").replaceChildren(...parts);
  show("facts");
}

async function askSecret(store: Store): Promise<void> {
  const known = await hasSecret(store);
  write("passphrase-label", known ? "Passphrase" : "Choose a passphrase");
  write("secret-help", known
    ? "It opens the secret that this browser keeps."
    : "It protects the secret that this browser makes and keeps. Nobody can restore it: without it, keys are made anew.");
  write("unlock", known ? "Unlock" : "Make a secret");
  passphrase.autocomplete = known ? "current-password" : "new-password";
  show("forget", known);
  show("passphrase-part");
  show("secret-section");
  passphrase.focus();
}

async function prepare(store: Store): Promise<void> {
  const own = client as PalladionClient;
  await own.unlock(passphrase.value);
  passphrase.value = "";
  show("forget", true);
  const begin = performance.now();
  try {
    await own.prepareKeys({ onProgress: (progress) => showProgress("keys", progress) });
  } catch (error) {
    await askSecret(store); // what is made is kept, and goes on from there
    throw error;
  } finally {
    show("keys-work", false);
  }
  show("passphrase-part", false);
  const seconds = (performance.now() - begin) / 1000;
  write("keys-done", `Key ${own.keyId.slice(0, 12)} is ready${seconds > 1 ? `, after ${duration(seconds)}` : ""}.`);
  show("keys-done");
  keysReady = true;
  input.ask(own.ends);
  show("input-section");
  enableRun();
}

async function forget(store: Store): Promise<void> {
  if (!confirm("Forget the secret? Answers on their way can then not be decrypted, and keys are made anew.")) return;
  await forgetSecret(store);
  keysReady = false;
  for (const section of ["input-section", "answer-section", "keys-done"]) show(section, false);
  await askSecret(store);
}

async function run(): Promise<void> {
  clearProblem();
  show("answer-section", false);
  const stop = new AbortController();
  running = stop;
  enableRun();
  show("stop");
  const times = new Map<string, number>();
  let [since, step] = [performance.now(), "encrypt"];
  const count = (next: string) => {
    const now = performance.now();
    times.set(step, (times.get(step) ?? 0) + (now - since) / 1000);
    [since, step] = [now, next];
  };
  try {
    const onProgress = (progress: Progress) => {
      if (progress.step !== step) count(progress.step);
      showProgress("run", progress);
    };
    const prediction = await (client as PalladionClient).predict(input.integers(), { onProgress, signal: stop.signal });
    count("");
    showAnswer(prediction, [...times] as Times);
  } catch (error) {
    showProblem(stop.signal.aborted ? new PalladionError("interrupted", "the run was cancelled", true) : error);
  } finally {
    running = null;
    show("run-work", false);
    show("stop", false);
    enableRun();
  }
}

async function begin(): Promise<void> {
  token.value = tokenOfAddress() ?? sessionStorage.getItem(TOKEN) ?? "";
  const store = await openStore();
  element("connect").addEventListener("submit", (event) => {
    event.preventDefault();
    void work("connect", () => connect(store));
  });
  element("secret").addEventListener("submit", (event) => {
    event.preventDefault();
    void work("secret", () => prepare(store));
  });
  element("forget").addEventListener("click", () => void work("secret", () => forget(store)));
  element("run").addEventListener("click", () => void run());
  element("stop").addEventListener("click", () => running?.abort());
  token.addEventListener("change", () => models.replaceChildren());
  if (token.value !== "") await work("connect", listModels);
}

begin().catch(showProblem);
