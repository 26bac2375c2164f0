/* The page of a survey: asks the question, randomises the answer here, and posts the report. */

import { Client } from "./dither-client.js";

const CAP = 8;
const form = document.getElementById("survey");
const status = document.getElementById("status");

const record = await (await fetch("survey.json")).json();
const client = new Client(record, { cap: CAP });
const { domain } = record;

if (domain.kind === "categories") {
  for (const name of domain.names) {
    const label = document.createElement("label");
    const choice = Object.assign(document.createElement("input"), { type: "radio", name: "answer", value: name, required: true });
    label.append(choice, ` ${name}`);
    form.append(label);
  }
} else {
  const number = { type: "number", name: "answer", min: domain.low, max: domain.high, step: 1, required: true };
  const label = document.createElement("label");
  label.append(`${domain.low} to ${domain.high}: `, Object.assign(document.createElement("input"), number));
  form.append(label);
}
form.append(Object.assign(document.createElement("button"), { textContent: "Send a randomised report" }));

document.getElementById("promise").textContent =
  `This browser randomises your answer before it sends anything: epsilon ${client.survey.epsilon.toFixed(3)}. ` +
  "It remembers the report and repeats it. Clearing the data of this site forgets what was spent.";

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const typed = new FormData(form).get("answer");
  try {
    const report = await client.report(domain.kind === "categories" ? typed : Number(typed));
    const sent = await fetch("reports", { method: "POST", body: report });
    status.textContent = sent.ok ? "Sent. Thank you." : "Not stored: send it again later; the report stays the same.";
  } catch (failure) {
    status.textContent = `Nothing was sent: ${failure.message}.`;
  }
});
form.dataset.ready = "true";
