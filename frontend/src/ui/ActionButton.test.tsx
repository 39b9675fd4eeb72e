import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";

import { ActionButton } from "./ActionButton";
import { ToastProvider } from "./Toast";

const REFUSAL = "Your role, viewer, cannot act on incidents. Ask an editor or admin of Acme.";

function show(refusal: string | null): { acted: () => void; submitted: () => void } {
  const acted = vi.fn();
  const submitted = vi.fn();
  render(
    <ToastProvider>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submitted();
        }}
      >
        <ActionButton refusal={refusal} type="submit" onClick={acted}>
          Resolve
        </ActionButton>
      </form>
    </ToastProvider>,
  );
  return { acted, submitted };
}

describe("ActionButton", () => {
  it("acts if allowed", async () => {
    const { acted, submitted } = show(null);
    const button = screen.getByRole("button", { name: "Resolve" });
    expect(button).not.toHaveAttribute("aria-disabled");
    await userEvent.setup().click(button);
    expect(acted).toHaveBeenCalledOnce();
    expect(submitted).toHaveBeenCalledOnce();
  });

  it("stays focusable and tells why it is refused instead of acting", async () => {
    const { acted, submitted } = show(REFUSAL);
    const button = screen.getByRole("button", { name: "Resolve" });
    expect(button).toHaveAttribute("aria-disabled", "true");
    expect(button).toHaveAttribute("title", REFUSAL);
    expect(button).toHaveAccessibleDescription(REFUSAL);
    const user = userEvent.setup();
    await user.tab();
    expect(button).toHaveFocus();
    await user.keyboard("{Enter}");
    expect(screen.getByText(REFUSAL, { selector: "li *" })).toBeVisible();
    expect(acted).not.toHaveBeenCalled();
    expect(submitted).not.toHaveBeenCalled();
  });
});
