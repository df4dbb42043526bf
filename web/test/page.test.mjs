// Does a person get through the page, in a real Chromium? The service is the mock of this folder
// over the native server, or with PALLADION_URL and PALLADION_TOKEN a real one.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { begin } from "./mock.mjs";
import { folder, native } from "./native.mjs";

const PAGE = fileURLToPath(new URL("../../python/palladion/service/page/", import.meta.url));
const SHOTS = process.env.PALLADION_SCREENSHOTS;
const BROWSER = process.env.PALLADION_BROWSER ?? ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(existsSync);
/** Of the packaged network's outputs. */
const SCALE = 0.00985879320329963;
const PASSPHRASE = "correct horse battery";

let browser, service, at, expected, remove;
const faults = new Map();

before(async () => {
  assert.ok(BROWSER, "no browser: install Debian's chromium-headless-shell, or name one by PALLADION_BROWSER");
  ({ path: at, remove } = await folder());
  await native("prepare", at);
  expected = JSON.parse(readFileSync(join(at, "expected.json"), "utf8"));
  service = process.env.PALLADION_URL
    ? { url: process.env.PALLADION_URL, state: null, end: () => {} }
    : await begin({
        client: readFileSync(join(at, "program.client")),
        page: PAGE,
        token: process.env.PALLADION_TOKEN ?? "token",
        partBytes: 16 << 20,
        fault: (name, count) => faults.get(name)?.(count) ?? null,
        compute: async (query, keys) => {
          writeFileSync(join(at, "query"), query);
          keys.forEach((key, index) => writeFileSync(join(at, `${index}.evaluation`), key));
          await native("run", at);
          return readFileSync(join(at, "answer"));
        },
      });
  browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox", "--disable-gpu", "--no-proxy-server"] });
  if (SHOTS) mkdirSync(SHOTS, { recursive: true });
});

after(async () => {
  await browser?.close();
  await service?.end();
  await remove?.();
});

/** A page whose console stays clean: errors of the content security policy are written there. */
async function open(context, browserContext) {
  const own = browserContext ?? (await browser.newContext({ viewport: { width: 900, height: 1400 } }));
  if (!browserContext) context.after(() => own.close());
  const page = await own.newPage();
  const said = [];
  page.on("console", (message) => message.type() === "error" && said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  await page.goto(`${service.url}/#token=${process.env.PALLADION_TOKEN ?? "token"}`);
  return { page, said, own };
}

const shot = async (page, name) => SHOTS && page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });

/** Waits for a part of the page. A problem that is shown before ends the wait. */
async function visible(page, selector, timeout = 120_000) {
  await page.waitForSelector(selector === "#problem" ? selector : `${selector}:visible, #problem:visible`, { state: "visible", timeout });
  if (selector === "#problem" || (await page.isVisible(selector))) return;
  assert.fail(`the page says: ${await page.textContent("#problem")}`);
}

async function unlock(page, passphrase = PASSPHRASE) {
  await visible(page, "#passphrase");
  await page.fill("#passphrase", passphrase);
  await page.click("#unlock");
}

async function drawSeven(page) {
  const { x, y } = await page.locator("#board").boundingBox();
  await page.mouse.move(x + 70, y + 60);
  await page.mouse.down();
  await page.mouse.move(x + 200, y + 60, { steps: 8 });
  await page.mouse.move(x + 120, y + 230, { steps: 10 });
  await page.mouse.up();
}

test("a drawn digit is classified, and a reload needs no new keys", async (context) => {
  const { page, said, own } = await open(context);
  await page.waitForFunction(() => document.querySelector("#model").options.length > 0);
  assert.equal(new URL(page.url()).hash, "", "the token leaves the address");
  await shot(page, "1-service");
  if (await page.isEnabled("#model")) await page.selectOption("#model", "mnist"); // one alone needs no choice
  await page.click("#connect button");
  await visible(page, "#facts");
  await shot(page, "2-secret");
  await unlock(page);
  await visible(page, "#keys-work");
  await page.waitForFunction(() => document.querySelector("#keys-progress").value > 0.3);
  assert.match(await page.textContent("#keys-left"), /^\d+ %, .* left$/);
  await shot(page, "3-keys");
  await visible(page, "#keys-done");
  console.log(await page.textContent("#keys-done"));
  assert.ok(await page.isDisabled("#run"), "nothing is drawn yet");
  await drawSeven(page);
  await shot(page, "4-drawing");
  await page.click("#run");
  await visible(page, "#run-work");
  await shot(page, "5-run");
  await visible(page, "#answer-section");
  assert.equal(await page.textContent("#answer"), "The answer is 7.");
  assert.equal(await page.locator("#scores tbody tr").count(), 10);
  assert.match(await page.textContent("#margin"), /Noise margin left: \d+\.\d bits/);
  console.log(await page.textContent("#times"));
  await shot(page, "6-answer");
  assert.deepEqual(said, []);

  const { page: again } = await open(context, own);
  await again.click("#connect button");
  await unlock(again, "wrong horse battery");
  await visible(again, "#problem");
  assert.match(await again.textContent("#problem-text"), /passphrase does not open the secret/);
  await shot(again, "7-wrong-passphrase");
  await unlock(again);
  await visible(again, "#keys-done", 20_000);
  assert.ok(await again.isHidden("#problem"));

  // A picture of a digit from a file, with the integers that are right.
  const bytes = Buffer.from(expected.pictures[1]);
  const png = await again.evaluate(async (pixels) => {
    const canvas = new OffscreenCanvas(28, 28);
    const image = new ImageData(28, 28);
    pixels.forEach((value, at) => image.data.set([value, value, value, 255], 4 * at));
    canvas.getContext("2d").putImageData(image, 0, 0);
    return Array.from(new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer()));
  }, Array.from(bytes));
  await again.setInputFiles("#file", { name: "digit.png", mimeType: "image/png", buffer: Buffer.from(png) });
  await again.click("#run:enabled");
  await visible(again, "#answer-section");
  assert.equal(await again.textContent("#answer"), `The answer is ${expected.labels[1]}.`);
  const scores = (await again.locator("#scores tbody td:nth-of-type(1)").allTextContents()).map(Number);
  const near = 8 * expected.spread * SCALE; // the rounding of a run
  scores.forEach((score, i) => assert.ok(Math.abs(score - expected.outputs[1][i] * SCALE) < near, `class ${i}: ${score}`));

  await again.setInputFiles("#file", { name: "words.png", mimeType: "image/png", buffer: Buffer.from("no picture") });
  await visible(again, "#problem");
  assert.match(await again.textContent("#problem-text"), /Words\.png is no picture/i);
});

test("no secret leaves the browser", { skip: process.env.PALLADION_URL !== undefined }, async (context) => {
  const { page } = await open(context);
  await page.click("#connect button");
  await visible(page, "#passphrase");
  const planted = "a planted passphrase";
  const before = service.state.bodies.length;
  await unlock(page, planted);
  await visible(page, "#keys-done");
  const sent = Buffer.concat(service.state.bodies.slice(before));
  assert.ok(sent.length > 1e6 || service.state.keys.size > 0);
  assert.ok(!sent.includes(planted), "the passphrase was sent");
  const stored = await page.evaluate(() => new Promise((resolve) => {
    const open = indexedDB.open("palladion");
    open.onsuccess = () => {
      const get = open.result.transaction("records").objectStore("records").get("secret");
      get.onsuccess = () => resolve(Array.from(get.result));
    };
  }));
  const sealed = Buffer.from(stored);
  assert.ok(sealed.includes('"kind":"passphrase"'), "the secret lies sealed in the browser");
  assert.ok(!sent.includes(sealed.subarray(sealed.length - 64)), "the sealed secret was sent");
});

test("errors have their cause and a way out", { skip: process.env.PALLADION_URL !== undefined }, async (context) => {
  const { page } = await open(context);
  await page.fill("#token", "other");
  await page.click("#connect button");
  await visible(page, "#problem");
  assert.match(await page.textContent("#problem-text"), /The token is unknown: ask the operator for another\./);
  await shot(page, "8-wrong-token");
  await page.fill("#token", "token");
  await page.click("#connect button");
  await unlock(page);
  await visible(page, "#keys-done");
  await drawSeven(page);
  faults.set("POST /v2/models/mnist/versions/1/jobs", () => ({ status: 409, body: { kind: "mismatch", detail: "the query is for another program: take the model's current client's file", retry: false } }));
  await page.click("#run");
  await visible(page, "#problem");
  assert.match(await page.textContent("#problem-title"), /do not belong together/);
  assert.match(await page.textContent("#problem-way"), /Load the page again/);
  await shot(page, "9-mismatch");
  faults.clear();
});

test("the page works by keyboard and says what it does", async (context) => {
  const { page } = await open(context);
  await page.waitForFunction(() => document.querySelector("#model").options.length > 0);
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("input, select, textarea, button, canvas, progress")]
      .filter((each) => !(each.labels?.length || each.getAttribute("aria-label") || each.textContent.trim()))
      .map((each) => each.id));
  assert.deepEqual(nameless, []);
  await page.focus("#token");
  await page.keyboard.press("Enter");
  await visible(page, "#facts");
  assert.equal(await page.evaluate(() => document.activeElement.id), "passphrase");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  await page.setViewportSize({ width: 360, height: 700 });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, `${wide}`);
  await shot(page, "10-narrow");
});
