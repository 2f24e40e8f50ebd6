(** What a late timer costs: the bound of competitive.v, for writes that come after their deadlines. *)

From Coq Require Import Arith Bool Lia List Sorted.
Require Import competitive.
Import ListNotations.

(** A batch that is written at [left_at]: [on_time] was held when it was due, and [joined] came after that,
    before the write. Its time of writing is any that is not before the deadline. *)
Record late_batch := { on_time : list nat; joined : list nat; left_at : nat }.

Definition all_of (one : late_batch) : list nat := on_time one ++ joined one.

Definition arrivals_of (batches : list late_batch) : list nat := flat_map all_of batches.

Definition due_at (price : nat) (one : late_batch) : nat := deadline price (on_time one).

(** What the rule makes of a stream where its timers are late. *)
Fixpoint is_late_run (price : nat) (batches : list late_batch) : Prop :=
  match batches with
  | [] => True
  | one :: others =>
      on_time one <> [] /\
      Forall (fun came => came <= due_at price one) (on_time one) /\
      due_at price one <= left_at one /\
      Forall (fun came => came <= left_at one) (joined one) /\
      Forall (le (left_at one)) (arrivals_of others) /\
      is_late_run price others
  end.

Definition own_delays (one : late_batch) : nat :=
  delays (all_of one) (repeat (left_at one) (length (all_of one))).

Definition late_cost (price : nat) (batches : list late_batch) : nat :=
  sum (map own_delays batches) + price * length batches.

(** For how long all messages of a batch together were held after it was due. *)
Definition own_lateness (price : nat) (one : late_batch) : nat :=
  length (on_time one) * (left_at one - due_at price one)
  + delays (joined one) (repeat (left_at one) (length (joined one))).

Definition lateness (price : nat) (batches : list late_batch) : nat :=
  sum (map (own_lateness price) batches).

Lemma some_are_no_more : forall (keep : nat -> bool) writes,
  length (filter keep writes) <= length writes.
Proof.
  intros keep writes. induction writes as [| at_ writes IH]; simpl.
  - apply le_n.
  - destruct (keep at_); simpl; lia.
Qed.

Lemma fewer_after : forall from upto writes, from <= upto ->
  length (filter (Nat.leb upto) writes) <= length (filter (Nat.leb from) writes).
Proof.
  intros from upto writes ordered.
  pose proof (writes_are_split from upto writes ordered). lia.
Qed.

(** Whoever knows the stream still pays the price once for each batch: the times from each batch's first
    arrival to its deadline are as they were, and the next batch begins after the late write. *)
Lemma late_batches_are_paid : forall price batches from leaves writes,
  is_late_run price batches ->
  Forall (le from) (arrivals_of batches) ->
  Forall2 le (arrivals_of batches) leaves ->
  Forall (fun leave => In leave writes) leaves ->
  price * length batches
  <= delays (arrivals_of batches) leaves + price * length (filter (Nat.leb from) writes).
Proof.
  intros price batches. induction batches as [| one others IH];
    intros from leaves writes run not_before in_order written.
  - simpl length. rewrite Nat.mul_0_r. lia.
  - destruct run as (some & _ & late & _ & after & run).
    unfold arrivals_of in *. cbn [flat_map] in *. fold (arrivals_of others) in *.
    unfold all_of in *. apply Forall_app in not_before. destruct not_before as [not_before _].
    apply Forall_app in not_before. destruct not_before as [not_before _].
    apply Forall2_app_inv_l in in_order.
    destruct in_order as (own & rest & own_order & rest_order & both). subst leaves.
    apply Forall2_app_inv_l in own_order.
    destruct own_order as (first & second & first_order & second_order & both). subst own.
    apply Forall_app in written. destruct written as [own_written rest_written].
    apply Forall_app in own_written. destruct own_written as [first_written _].
    assert (lengths : length (on_time one ++ joined one) = length (first ++ second)).
    { rewrite !app_length, (as_many_leave _ _ first_order), (as_many_leave _ _ second_order).
      reflexivity. }
    rewrite (delays_app _ _ _ _ lengths), (delays_app _ _ _ _ (as_many_leave _ _ first_order)).
    pose proof (one_batch_is_paid price (on_time one) from first writes some not_before first_order
                  first_written) as paid.
    pose proof (first_by_deadline price (on_time one) from some not_before) as ordered.
    pose proof (writes_are_split from (deadline price (on_time one)) writes ordered) as parts.
    pose proof (IH (left_at one) rest writes run after rest_order rest_written) as others_paid.
    unfold due_at in late.
    pose proof (fewer_after (deadline price (on_time one)) (left_at one) writes late) as fewer.
    apply (Nat.mul_le_mono_l _ _ price) in fewer.
    rewrite <- parts. rewrite Nat.mul_add_distr_l. simpl length. rewrite Nat.mul_succ_r. lia.
Qed.

Lemma late_batches_pay : forall price batches, is_late_run price batches ->
  sum (map own_delays batches) + length batches
  <= price * length batches + length (arrivals_of batches) + lateness price batches.
Proof.
  intros price batches. induction batches as [| one others IH]; intro run.
  - simpl. lia.
  - destruct run as (some & by_due & late & _ & _ & run). specialize (IH run).
    assert (by_write : Forall (fun came => came <= left_at one) (on_time one)).
    { rewrite Forall_forall in by_due |- *. intros came among. specialize (by_due came among). lia. }
    pose proof (delays_of_batch (left_at one) (on_time one) by_write) as exactly.
    destruct (deadline_bounds price (on_time one) some) as [_ most].
    assert (split_delays : own_delays one
      = delays (on_time one) (repeat (left_at one) (length (on_time one)))
        + delays (joined one) (repeat (left_at one) (length (joined one)))).
    { unfold own_delays, all_of. rewrite app_length, repeat_app. apply delays_app.
      symmetry. apply repeat_length. }
    assert (after_due : length (on_time one) * left_at one
      = length (on_time one) * deadline price (on_time one)
        + length (on_time one) * (left_at one - due_at price one)).
    { rewrite <- Nat.mul_add_distr_l. f_equal. unfold due_at in *. lia. }
    assert (lengths : length (arrivals_of (one :: others))
      = length (on_time one) + length (joined one) + length (arrivals_of others)).
    { unfold arrivals_of. cbn [flat_map]. unfold all_of at 1. rewrite !app_length. reflexivity. }
    rewrite lengths. unfold lateness in *. cbn [map sum length]. rewrite split_delays.
    unfold own_lateness at 1. rewrite Nat.mul_succ_r.
    set (passed := length (on_time one) * (left_at one - due_at price one)) in *. lia.
Qed.

(** Late timers add the time for which they held what was due, for each message of it, and no more. *)
Theorem late_timers_add_their_lateness : forall price batches leaves writes,
  is_late_run price batches ->
  is_schedule (arrivals_of batches) leaves writes ->
  late_cost price batches + length batches
  <= 2 * cost price (arrivals_of batches) leaves writes
     + length (arrivals_of batches) + lateness price batches.
Proof.
  intros price batches leaves writes run [in_order written].
  assert (from_start : Forall (le 0) (arrivals_of batches)).
  { apply Forall_forall. intros came _. apply Nat.le_0_l. }
  pose proof (late_batches_are_paid price batches 0 leaves writes run from_start in_order written) as paid.
  pose proof (late_batches_pay price batches run) as own.
  assert (some : length (filter (Nat.leb 0) writes) <= length writes).
  { apply some_are_no_more. }
  apply (Nat.mul_le_mono_l _ _ price) in some.
  unfold late_cost, cost. lia.
Qed.

(** A run of the rule is one where nothing is late. *)
Definition in_time (one : batch) : late_batch :=
  {| on_time := messages one; joined := []; left_at := written_at one |}.

Lemma all_at_once : forall price held later batches, follows price held later batches ->
  arrivals_of (map in_time batches) = held ++ later.
Proof.
  intros price held later batches H.
  induction H as [held | held came later batches by_then H IH | held came later batches after H IH].
  - unfold arrivals_of, all_of. simpl. rewrite !app_nil_r. reflexivity.
  - rewrite IH, <- regroup. reflexivity.
  - cbn [map]. unfold arrivals_of in *. cbn [flat_map]. rewrite IH.
    unfold all_of. simpl. rewrite app_nil_r. reflexivity.
Qed.

Theorem the_rule_is_never_late_itself : forall price arrivals batches,
  StronglySorted le arrivals ->
  obeys price arrivals batches ->
  is_late_run price (map in_time batches) /\
  arrivals_of (map in_time batches) = arrivals /\
  lateness price (map in_time batches) = 0.
Proof.
  assert (step : forall price held later batches, follows price held later batches ->
            held <> [] ->
            Forall (fun came => came <= deadline price held) held ->
            StronglySorted le (held ++ later) ->
            is_late_run price (map in_time batches) /\ lateness price (map in_time batches) = 0).
  { intros price held later batches H.
    induction H as [held | held came later batches by_then H IH | held came later batches after H IH];
      intros some by_deadline sorted.
    - unfold lateness, own_lateness, due_at, in_time, batch_of.
      cbn [map is_late_run sum on_time joined left_at messages written_at delays length repeat].
      unfold due_at. cbn [on_time]. rewrite Nat.sub_diag, Nat.mul_0_r.
      repeat split; try assumption; try constructor.
    - pose proof (still_by_deadline price held came later some by_then sorted) as by_deadline'.
      rewrite regroup in sorted. apply IH; try assumption. apply one_more_is_some.
    - pose proof (sorted_end held (came :: later) sorted) as sorted_later.
      destruct (IH (one_is_some came) (one_by_deadline price came) sorted_later) as [run none].
      split.
      + cbn [map is_late_run]. unfold due_at, in_time at 1 2 3 4 5 6, batch_of.
        cbn [on_time joined left_at messages written_at].
        repeat split; try assumption; try constructor.
        rewrite (all_at_once price [came] later batches H). cbn [app].
        inversion sorted_later as [| ? ? sorted' from_came]; subst.
        constructor; [exact after |].
        rewrite Forall_forall in from_came |- *. intros one among.
        specialize (from_came one among). unfold in_time. cbn [left_at written_at]. lia.
      + unfold lateness in *. cbn [map sum]. rewrite none.
        unfold own_lateness, due_at, in_time, batch_of.
        cbn [on_time joined left_at messages written_at delays length repeat].
        rewrite Nat.sub_diag, Nat.mul_0_r. reflexivity. }
  intros price arrivals batches sorted obeyed. destruct arrivals as [| first later].
  - simpl in obeyed. subst batches. repeat split.
  - simpl in obeyed.
    destruct (step price [first] later batches obeyed (one_is_some first)
                (one_by_deadline price first) sorted) as [run none].
    repeat split; [exact run | exact (all_at_once price [first] later batches obeyed) | exact none].
Qed.

Print Assumptions late_timers_add_their_lateness.
Print Assumptions the_rule_is_never_late_itself.
