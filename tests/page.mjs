// The page of fwl serve in a real Chromium: load, chat, drop a document, fork, stop, undo, reload, a server that goes away.
// Usage: node tests/page.mjs FWL MODEL TEMPLATE DOCUMENT FOLDER     (`make test-page` does; screenshots go to FOLDER)
// playwright-core comes from build/node, where `python3 scripts/setup.py page` puts it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../build/node/", import.meta.url))("playwright-core");

const [program, model, template, document_, folder] = process.argv.slice(2);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

// Resolves to the process and its address.
function serve(port) {
  const server = spawn(program, ["serve", "--model", model, "--template", template, "--sessions", `${folder}/sessions`,
                                 "--threads", "1", "--port", port], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve) => server.stdout.once("data", (line) =>
    resolve({ server, url: String(line).trim().replace("listening on ", "") })));
}

let { server, url } = await serve("0");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-background-networking", "--disable-sync"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
const problems = [], outside = [];
page.on("pageerror", (error) => problems.push(String(error)));
page.on("request", (request) => { if (!request.url().startsWith(url) && !request.url().startsWith("data:")) outside.push(request.url()); });
page.on("dialog", (dialog) => dialog.accept());
const step = async (name, action) => { await action(); console.log(`ok: ${name}`); };
const idle = () => page.locator("#send").waitFor({ state: "visible" });
const tokensRead = async () => Number((await page.locator("#facts").textContent()).split(" ")[0]);
const drop = async (name, text) => {
  const data = await page.evaluateHandle(([label, content]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([content], label, { type: "text/plain" }));
    return transfer;
  }, [name, text]);
  await page.dispatchEvent("main", "drop", { dataTransfer: data });
};

try {
  await step("loads, and names the model", async () => {
    await page.goto(url);
    await page.locator("#model").getByText("model").waitFor();
  });
  await step("creates a session", async () => {
    await page.fill("#new-name", "notes");
    await page.keyboard.press("Enter");
    await page.locator("#sessions [aria-current]").getByText("notes").waitFor();
  });
  await step("reads a document that is dropped, with two lines drawing apart", async () => {
    await drop("licence.txt", readFileSync(document_, "utf8"));
    await page.locator("#status").getByText("is read").waitFor({ timeout: 60000 });
    assert.equal(await page.locator("#perplexity path").count(), 3);
    const [, fast, slow] = (await page.locator("#reading-note").textContent()).match(/perplexity ([\d.]+) .*, ([\d.]+) without/);
    assert.ok(Number(fast) < Number(slow), `${fast} < ${slow}`);
  });
  await step("answers with coloured tokens, from the keyboard alone", async () => {
    await page.focus("#question");
    await page.keyboard.type("Hello");
    await page.keyboard.press("Enter");
    await page.locator("article.assistant span").first().waitFor();
    await page.locator("#stop").waitFor({ state: "hidden", timeout: 60000 });
    await idle();
    assert.ok(await page.locator("article.assistant span[title]").count() > 0, "a token that the fast weights changed");
    await page.screenshot({ path: `${folder}/answer.png` });
  });
  const before = await tokensRead();
  await step("stops an answer, and the session is as it was", async () => {
    await page.fill("#question", "Tell me more");
    await page.click("#send");
    await page.keyboard.press("Escape");
    await page.locator("#status").getByText("Stopped").waitFor();
    await idle();
    assert.equal(await tokensRead(), before);
  });
  await step("forks", async () => {
    await page.click("#fork");
    await page.locator("#status").getByText("This is the fork").waitFor();
    assert.match(await page.locator("#sessions [aria-current]").textContent(), /^notes-/);
    assert.equal(await tokensRead(), before);
    assert.equal(await page.locator("article").count(), 2);
  });
  await step("undoes the last request", async () => {
    await page.locator("#sessions").getByText("notes", { exact: true }).click();
    await page.locator("#sessions [aria-current]").getByText("notes", { exact: true }).waitFor();
    await page.click("#undo");
    await page.locator("#status").getByText("undone").waitFor();
    assert.ok(await tokensRead() < before);
    assert.equal(await page.locator("article").count(), 0);
  });
  await step("exports", async () => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.click("#export")]);
    assert.equal(file.suggestedFilename(), "notes.session");
  });
  await step("shows the conversation again after a reload", async () => {
    await page.locator("#sessions").getByText(/^notes-/).click();
    await page.locator("article.assistant").waitFor();
    await page.reload();
    await page.locator("article.assistant").waitFor();
    assert.equal(await page.locator("article").count(), 2);
  });
  await step("says that the server is away, and comes back with it", async () => {
    server.kill("SIGKILL");
    await new Promise((resolve) => server.once("exit", resolve));
    await page.fill("#question", "Anyone?");
    await page.click("#send");
    await page.locator("#offline").waitFor();
    await page.screenshot({ path: `${folder}/offline.png` });
    ({ server } = await serve(new URL(url).port));
    await page.locator("#offline").waitFor({ state: "hidden", timeout: 20000 });
    await page.locator("article.assistant").waitFor();
  });
  await step("fits a phone, in the dark", async () => {
    await page.setViewportSize({ width: 390, height: 780 });
    await page.emulateMedia({ colorScheme: "dark" });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing to scroll sideways");
    await page.screenshot({ path: `${folder}/phone.png` });
  });
  await step("forgets", async () => {
    await page.click("#forget");
    await page.locator("#status").getByText("Forgotten").waitFor();
    assert.equal(await page.locator("#sessions").getByText(/^notes-/).count(), 0);
  });
  await step("every control has a name", async () => {
    const nameless = await page.evaluate(() => [...document.querySelectorAll("button, input, textarea, a, svg")]
      .filter((one) => !(one.textContent.trim() || one.ariaLabel || one.getAttribute("aria-label") || one.labels?.length))
      .map((one) => one.outerHTML));
    assert.deepEqual(nameless, []);
  });
  await step("no request left the server, and no script failed", async () => {
    assert.deepEqual(outside, []);
    assert.deepEqual(problems, []);
  });
} finally {
  await browser.close();
  server.kill();
}
