import { act, render, screen } from "@testing-library/react";
import type { ReactElement } from "react";

import { usePictureControl, usePictureNow, type PictureControl } from "./pictureContext";
import { PictureProvider } from "./PictureProvider";

const router = vi.hoisted(() => ({ history: { location: { state: { __TSR_index: 0 } } } }));
vi.mock("@tanstack/react-router", () => ({ useRouter: () => router }));

const extent = { fromUs: 0, toUs: 10_000_000 };
const nowhere = { view: null, selection: null };

describe("PictureProvider", () => {
  it("renders only what reads the timeline's state again, and tells the others when they ask", () => {
    let bystanders = 0;
    let control: PictureControl | undefined;
    function Bystander(): ReactElement {
      bystanders += 1;
      control = usePictureControl();
      return <p>fixes</p>;
    }
    function Timeline(): ReactElement {
      const { view } = usePictureNow();
      return <p>from {view.fromUs}</p>;
    }
    render(
      <PictureProvider url={nowhere} onRest={() => undefined} extent={extent} first={extent}>
        <Timeline />
        <Bystander />
      </PictureProvider>,
    );
    expect(screen.getByText("from 0")).toBeVisible();
    for (const fromUs of [1_000_000, 2_000_000, 3_000_000]) act(() => control?.setView({ fromUs, toUs: fromUs + 1_000_000 }));
    expect(screen.getByText("from 3000000")).toBeVisible();
    expect(bystanders).toBe(1);
    expect(control?.current()).toEqual({ view: { fromUs: 3_000_000, toUs: 4_000_000 }, selection: null });
  });
});
