// Calls of the native half of the tests: Python with the package of this checkout.
// PALLADION_PYTHON names the interpreter; without it, that of .venv.
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = join(HERE, "..", "..");
const VENV = join(ROOT, ".venv", "bin", "python");

export const PYTHON = process.env.PALLADION_PYTHON ?? (existsSync(VENV) ? VENV : "python3");

/** Environment in which Python finds the package of this checkout, if its module is built there. */
export function environment() {
  const built = existsSync(join(ROOT, "python", "palladion", "_native.abi3.so"));
  return built ? { ...process.env, PYTHONPATH: join(ROOT, "python") } : process.env;
}

/** What `native.py` prints. */
export async function native(...words) {
  const options = { env: environment(), maxBuffer: 1 << 28 };
  const { stdout } = await promisify(execFile)(PYTHON, [join(HERE, "native.py"), ...words], options);
  return stdout;
}

/** A fresh folder, and what removes it. */
export async function folder() {
  const path = await mkdtemp(join(tmpdir(), "palladion-web-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** The bytes of the module. */
export function moduleBytes() {
  return readFileSync(join(HERE, "..", "dist", "palladion_bg.wasm"));
}
